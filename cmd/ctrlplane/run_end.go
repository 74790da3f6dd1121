package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/cmd/ctrlplane/earlystderr"
)

// reportLimit is how long the report may take once a signal has arrived.
const reportLimit = 10 * time.Second

// end ends a run: it judges and stops the control plane, if that was ready, and writes the report.
func (r *runCommand) end(c *commandProcess, ready bool, code int, err error) (int, error) {
	r.reason.Store(new(err))
	ctx, stopWatching := r.watchSignals()
	defer stopWatching()
	if ready {
		if code, err = r.judge(ctx, code, err); code != 0 || err != nil {
			r.report.printDeleted(r.output)
		}
		r.reason.Store(new(err))
		if r.hurried.Load() {
			code, err = r.finish(code, err)
		}
		r.report.beginStage("stop")
		if stopErr := r.stopPlane(); stopErr != nil {
			err = errors.Join(err, stopErr)
			if code == 0 {
				code = exitFailure
			}
		}
		c.reportLeftovers(r.output)
	}
	r.reason.Store(new(err))
	return r.finish(code, err)
}

// printExpired prints the last line of a run whose time was over, and returns what is left to be printed.
func (r *runCommand) printExpired(err error) error {
	if r.expired.Err() == nil {
		return err
	}
	writeError(r.output, err)
	return nil
}

func (r *runCommand) stopPlane() error {
	defer earlystderr.Release()
	return r.up.server.Close()
}

// interruption is the cause of the end of a context that a signal has ended.
type interruption struct{ sig os.Signal }

func (i *interruption) Error() string { return "interrupted" }

// interruptionOf returns the signal that has ended the context; nil if none has.
func interruptionOf(ctx context.Context) os.Signal {
	if i, ok := errors.AsType[*interruption](context.Cause(ctx)); ok {
		return i.sig
	}
	return nil
}

// watchSignals lets signals end the end of a run: the first cancels the context and limits the
// time for the report, a second one ends the process at once.
func (r *runCommand) watchSignals() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		finishing := r.finishing
		var limit <-chan time.Time
		for first := r.interrupted; ; {
			select {
			case sig := <-r.signals.ch:
				if first != nil {
					r.endAtOnce(sig, "a second signal ended ctrlplane")
				}
				r.noteSignal(sig, ": a second signal ends ctrlplane at once")
				first = sig
				cancel(&interruption{sig})
			case <-finishing:
				finishing = nil
			case <-limit:
				r.endAtOnce(first, fmt.Sprintf("%v after a signal ctrlplane ended", reportLimit))
			case <-over:
				return
			}
			if first != nil && finishing == nil && limit == nil {
				limit = time.After(reportLimit)
			}
		}
	})
	return ctx, func() {
		close(over)
		watching.Wait()
		cancel(nil)
	}
}

// endAtOnce ends the process. Unless the report is being written already, it is written first,
// in limited time. The files of a report are complete or missing.
func (r *runCommand) endAtOnce(sig os.Signal, why string) {
	code := signalExitCode(sig)
	r.hurried.Store(true)
	ended := func(before string) error {
		err := errors.New(why + " before " + before)
		if reason := r.reason.Load(); reason != nil {
			err = errors.Join(*reason, err)
		}
		return err
	}
	select {
	case <-r.finishing:
	default:
		written := r.within(reportLimit, func() {
			r.report.setInterrupted(signalName(sig))
			_, err := r.finish(code, ended("everything had stopped"))
			printError(err)
		})
		if written {
			exit(code)
		}
	}
	r.within(time.Second, func() { printError(ended(r.report.unfinished())) }) // stderr may be what is stuck
	exit(code)
}

// within calls a function, and reports whether it returns before the time is over and before another signal arrives.
func (r *runCommand) within(limit time.Duration, do func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
		return true
	case <-r.signals.ch:
	case <-time.After(limit):
	}
	return false
}

// finish writes the report and, if there is more to say than the command itself did,
// prints one line about the run.
func (r *runCommand) finish(code int, err error) (int, error) {
	r.finishOnce.Do(func() { close(r.finishing) })
	if r.interrupted == nil {
		code = exitCode(&exitError{err, code}) // 2 for what only a component recognizes: bad usage, a wrong manifest
	}
	err = addHints(r.command, r.up.target, err)
	r.skipUnchecked()
	var printing sync.WaitGroup // besides the writing: stderr may be stuck
	if r.hasVerdict() && r.hurried.Load() {
		line := r.report.endLine(code, err, r.settle)
		printing.Go(func() { fmt.Fprint(r.output, line) })
	}
	code, err = r.report.write(code, err)
	printing.Wait()
	if r.hasVerdict() {
		fmt.Fprint(r.output, r.report.endLine(code, err, r.settle))
	}
	return code, err
}
