package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/sleep"
)

// startTimeout and stopTimeout are much longer than any contestant needs.
const (
	startTimeout = 2 * time.Minute
	stopTimeout  = 2 * time.Minute
)

// controlPlane is a running control plane of one or more processes.
type controlPlane struct {
	began time.Time // just before the start of its first process
	url   string
	// certs returns the folder of ca.crt, admin.crt and admin.key, which may not
	// exist yet; "" = not known yet.
	certs     func() string
	processes []*process
	detached  []int        // process IDs that another program has started
	remove    func() error // ends the detached processes; nil = there are none
}

// process is a child process whose output goes to the log of the working directory.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended and err is set
	err  error
}

func (p *controlPlane) startProgram(r *workDir, path string, args ...string) error {
	return p.start(r.command(path, args...))
}

// command returns a command that runs in the working directory.
func (r *workDir) command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "TMPDIR="+r.dir, "TMP="+r.dir, "TEMP="+r.dir)
	cmd.Stdout, cmd.Stderr = r.log, r.log
	setGroup(cmd)
	return cmd
}

func (p *controlPlane) start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	c := &process{name: filepath.Base(cmd.Path), cmd: cmd, done: make(chan struct{})}
	p.processes = append(p.processes, c)
	go func() {
		c.err = cmd.Wait()
		close(c.done)
	}()
	return nil
}

// whileRunning calls do with a context that ends after d or, with that cause, as soon as
// one of the processes ends.
func (p *controlPlane) whileRunning(ctx context.Context, d time.Duration, do func(context.Context) error) error {
	ctx, stop := withTimeout(ctx, d)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, c := range p.processes {
		go func() {
			select {
			case <-c.done:
				cancel(fmt.Errorf("%s ended: %s", c.name, c.cmd.ProcessState))
			case <-ctx.Done():
			}
		}()
	}
	return do(ctx)
}

// withTimeout returns a context that ends after d, with a cause that says so.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("timed out after %v", d))
}

// stop stops the processes one after the other, the last one started first, and returns
// how long that took. Stopping all at once would be slower for upstream: without
// etcd, kube-apiserver takes minutes to end.
func (p *controlPlane) stop(ctx context.Context) (time.Duration, error) {
	ctx, cancel := withTimeout(ctx, stopTimeout)
	defer cancel()
	if err := p.awaitStarted(ctx); err != nil {
		return 0, fmt.Errorf("stop: start is not complete: %w", err)
	}
	began := time.Now()
	for _, c := range slices.Backward(p.processes) {
		if err := terminate(c.cmd.Process); err != nil {
			return 0, fmt.Errorf("stop %s: %w", c.name, err)
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			return 0, fmt.Errorf("stop: %s is still running: %w", c.name, context.Cause(ctx))
		}
		if c.err != nil && !terminated(c.cmd.ProcessState) {
			return 0, fmt.Errorf("stop: %s: %w", c.name, c.err)
		}
	}
	return time.Since(began), nil
}

// awaitStarted waits until ctrlplane's own start is complete, some milliseconds after it
// is usable: interrupting a start is an error.
func (p *controlPlane) awaitStarted(ctx context.Context) error {
	for {
		state, running, err := datadir.Peek(filepath.Dir(p.certs()))
		if err != nil || !running || state.Server != "" {
			return err
		}
		if !sleep.For(ctx, 5*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// kill kills the processes that are still running and waits for their end.
func (p *controlPlane) kill() {
	if p.remove != nil {
		p.remove() //nolint:errcheck // what fails is in the log of the run
	}
	for _, c := range p.processes {
		select {
		case <-c.done:
		default:
			killGroup(c.cmd.Process)
			<-c.done
		}
	}
}

// totalCPU returns the CPU time of processes that have ended, user and system.
func (p *controlPlane) totalCPU() time.Duration {
	var sum time.Duration
	for _, c := range p.processes {
		sum += c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
	}
	return sum
}
