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
)

// startTimeout and stopTimeout are far beyond what any contestant takes.
const (
	startTimeout = 2 * time.Minute
	stopTimeout  = 2 * time.Minute
)

// controlPlane is a control plane that has been launched.
type controlPlane struct {
	began time.Time // just before its first process
	url   string
	// certs is the folder of ca.crt, admin.crt and admin.key, which may not
	// be there yet; "" = not known yet.
	certs     func() string
	processes []*process
}

// process is a child of the bench, with its output in the log of the room.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended; err is final then
	err  error
}

func (p *controlPlane) startProgram(r *workDir, path string, args ...string) error {
	return p.start(r.command(path, args...))
}

// command is a program to be run in the room.
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

// whileRunning does something for which the processes have to run, and bounds it: if
// one of them ends meanwhile, that is the cause with which its context ends.
func (p *controlPlane) whileRunning(ctx context.Context, d time.Duration, do func(context.Context) error) error {
	ctx, stop := withTimeout(ctx, d)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, c := range p.processes {
		go func() {
			select {
			case <-c.done:
				cancel(fmt.Errorf("%s has ended: %s", c.name, c.cmd.ProcessState))
			case <-ctx.Done():
			}
		}()
	}
	return do(ctx)
}

// withTimeout ends a wait, and says so, when it takes too long.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("gave up after %v", d))
}

// stop ends one process after the other, the last one launched first, and
// returns how long that took. All at once would be worse for upstream: without
// its etcd, kube-apiserver goes on for minutes.
func (p *controlPlane) stop(ctx context.Context) (time.Duration, error) {
	ctx, cancel := withTimeout(ctx, stopTimeout)
	defer cancel()
	if err := p.awaitStarted(ctx); err != nil {
		return 0, fmt.Errorf("stop: it is still starting: %w", err)
	}
	began := time.Now()
	for _, c := range slices.Backward(p.processes) {
		if err := terminate(c.cmd.Process); err != nil {
			return 0, fmt.Errorf("stop %s: %w", c.name, err)
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			return 0, fmt.Errorf("stop: %s still runs: %w", c.name, context.Cause(ctx))
		}
		if c.err != nil && !terminated(c.cmd.ProcessState) {
			return 0, fmt.Errorf("stop: %s: %w", c.name, c.err)
		}
	}
	return time.Since(began), nil
}

// awaitStarted waits until ctrlplane takes itself for started, which is some milliseconds
// after others may: a start that is cut short is an error.
func (p *controlPlane) awaitStarted(ctx context.Context) error {
	for {
		state, running, err := datadir.Peek(filepath.Dir(p.certs()))
		if err != nil || !running || state.Server != "" {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// kill ends whatever still runs, and waits for it.
func (p *controlPlane) kill() {
	for _, c := range p.processes {
		select {
		case <-c.done:
		default:
			killGroup(c.cmd.Process)
			<-c.done
		}
	}
}

// totalCPU is the CPU time of processes that have ended, user and system.
func (p *controlPlane) totalCPU() time.Duration {
	var sum time.Duration
	for _, c := range p.processes {
		sum += c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
	}
	return sum
}
