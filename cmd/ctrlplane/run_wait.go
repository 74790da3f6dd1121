package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/oomkill"
)

// commandWait waits for the end of a command. Of several causes that end it before it exits by
// itself, the first one gives the exit code.
type commandWait struct {
	run *runCommand
	c   *commandProcess

	code int   // for why
	why  error // why the command was made to exit; nil = it was not

	lastSignal os.Signal   // received, of those that otherwise end this process
	decides    bool        // the command decides what it means: the terminal has sent it
	sent       []os.Signal // all that were forwarded
	timeout    <-chan time.Time
	planeEnded <-chan struct{}
	grace      <-chan time.Time // after it the command is killed
	killed     string           // why it was killed after that; empty = it was not
	ignored    <-chan time.Time // likewise, after a second signal
}

// waitForExit returns when the command has exited. It terminates the command when
// the time is over or the control plane has exited.
func (r *runCommand) waitForExit(c *commandProcess) (int, error) {
	w := &commandWait{run: r, c: c, planeEnded: r.up.server.Done()}
	if r.timeout > 0 {
		w.timeout = time.After(r.timeout)
	}
	for {
		select {
		case <-c.exited:
			return w.result()
		case sig := <-r.signals.ch:
			w.forward(sig)
		case sig := <-r.signals.forCommand:
			w.sent = append(w.sent, sig)
			c.forwardSignal(sig)
		case <-w.timeout:
			r.expire()
			w.terminate(exitTimeout, fmt.Errorf("the command was terminated after %v: raise --timeout if it needs more time", r.timeout))
		case <-w.planeEnded:
			w.terminate(exitFailure, fmt.Errorf("the command was terminated: the control plane has exited: %w", r.up.server.Err()))
		case <-w.grace:
			w.kill(fmt.Sprintf("it had not exited %v later, and was killed", killGrace))
		case <-w.ignored:
			w.killIgnoring()
		}
	}
}

// forward forwards a signal that otherwise ends this process. A second one limits the time until
// the command is killed, unless the terminal has sent it to the command: many programs do other
// things than exit upon Ctrl-C.
func (w *commandWait) forward(sig os.Signal) {
	fromTerminal := w.c.hasFromTerminal(sig)
	switch {
	case fromTerminal:
	case !w.c.running.Load():
		w.run.noteSignal(sig, "")
	case w.lastSignal != nil && w.ignored == nil:
		w.ignored = time.After(secondSignalGrace)
		w.run.hurried.Store(true)
		w.run.noteSignal(sig, fmt.Sprintf(", sent to the command, which is killed if it still runs in %v", secondSignalGrace))
	case w.ignored == nil:
		w.run.noteSignal(sig, ", sent to the command")
	}
	w.decides = fromTerminal && (w.decides || w.lastSignal == nil)
	w.lastSignal = sig
	w.sent = append(w.sent, sig)
	w.c.interrupt(sig)
}

// terminate asks the command to exit, and limits the time for that.
func (w *commandWait) terminate(code int, why error) {
	w.end(code, why)
	w.c.ending.Store(true)
	w.c.terminate()
	w.grace = time.After(killGrace)
}

// killIgnoring kills a command that has ignored two signals.
func (w *commandWait) killIgnoring() {
	if w.why != nil {
		w.run.interrupted = w.lastSignal
		w.kill("it ignored two signals, and was killed")
		return
	}
	w.run.interrupt(w.lastSignal)
	w.end(signalExitCode(w.lastSignal), errors.New("the command was killed: it has ignored two signals"))
	w.c.kill()
}

// kill kills the command. Once it has exited, only its output is awaited.
func (w *commandWait) kill(why string) {
	if w.killed == "" && w.c.running.Load() {
		w.killed = why
	}
	w.c.kill()
}

// end records why the command is made to exit. Later causes do not count.
func (w *commandWait) end(code int, why error) {
	w.code, w.why = code, why
	w.timeout, w.planeEnded = nil, nil
}

// result is the exit code of the run, once the command has exited.
func (w *commandWait) result() (int, error) {
	switch {
	case w.why != nil && w.killed != "":
		return w.code, fmt.Errorf("%w; %s", w.why, w.killed)
	case w.why != nil:
		return w.code, w.why
	}
	code, err := w.c.exitCode()
	switch {
	case errors.Is(err, errOutputLost):
		w.run.interrupt(w.lastSignal)
		code = cmp.Or(code, signalExitCode(w.lastSignal))
	case err != nil:
	case w.wasInterrupted():
		code, err = w.interruption(code)
	case code != 0:
		err = w.explainFailure()
	}
	return code, err
}

// wasInterrupted reports whether a signal that ctrlplane has received has interrupted the command. If the terminal has sent
// it to the command, too, it has only if it has ended the command.
func (w *commandWait) wasInterrupted() bool {
	return w.lastSignal != nil && (!w.decides || stateSignal(w.c.cmd.ProcessState) == w.lastSignal)
}

// interruption returns the result of a run whose command was interrupted: if ctrlplane judges it, it has not passed,
// whatever the command says.
func (w *commandWait) interruption(code int) (int, error) {
	w.run.interrupt(w.lastSignal)
	name := signalName(w.lastSignal)
	switch by := stateSignal(w.c.cmd.ProcessState); {
	case !w.run.hasVerdict(): // the line that says which signal was received is enough
		return code, nil
	case code == 0:
		return signalExitCode(w.lastSignal), fmt.Errorf("the command exited with code 0 after %s, which ctrlplane received: an interrupted run has not passed", name)
	case by == w.lastSignal:
		return code, fmt.Errorf("the command was ended by %s, which ctrlplane received", name)
	case by != 0:
		return code, fmt.Errorf("the command was ended by signal %d (%s) after %s, which ctrlplane received", int(by), signalName(by), name)
	}
	return code, fmt.Errorf("the command exited with code %d after %s, which ctrlplane received", code, name)
}

// explainFailure returns the error that explains why the command has failed, if ctrlplane knows more than the exit code says.
// A signal that ctrlplane has not sent is named, as a shell does.
func (w *commandWait) explainFailure() error {
	sig := stateSignal(w.c.cmd.ProcessState)
	switch {
	case w.c.oomKills.Any() && sig == syscall.SIGKILL:
		return fmt.Errorf("the kernel has killed the command: %s: allow more, or have it use less", oomkill.Cause())
	case w.c.oomKills.Any():
		return fmt.Errorf("the kernel has killed a process while the command ran: %s: allow more, or have the command use less", oomkill.Cause())
	case sig == 0:
		return nil
	}
	why := fmt.Errorf("the command was ended by signal %d (%s)", int(sig), signalName(sig))
	switch {
	case !slices.Contains(w.sent, os.Signal(sig)):
		why = fmt.Errorf("%w, which ctrlplane has not sent", why)
	case !w.run.needsState():
		return nil
	}
	switch {
	case w.run.needsState():
		return why
	case sig != syscall.SIGINT && sig != syscall.SIGPIPE: // of the terminal, and of what does not read the output
		printError(why)
	}
	return nil
}
