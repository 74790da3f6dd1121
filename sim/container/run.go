package container

import (
	"context"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// Exit codes of commands that a signal ended.
const (
	exitSIGTERM = 128 + int(syscall.SIGTERM)
	exitSIGKILL = 128 + int(syscall.SIGKILL)
)

// run is a run of a container. The lock of its session guards its fields, except for
// those that never change.
type run struct {
	pod      *pod
	name     string // of the container
	number   int32
	sidecar  bool
	args     []string
	serves   bool
	delay    time.Duration // of its end when its Pod stops, if it has no command
	tty      bool
	ctx      context.Context // ends when the command is killed
	cancel   context.CancelFunc
	log      Log
	state    State
	stopping bool               // it was asked to end
	expire   context.CancelFunc // ends the grace period with which it was asked; nil before

	command func(*corev1.Container) []string // Spec.CommandOf, if it waits for what it needs
	retry   chan struct{}                    // while it is blocked: receives when it may not be any more
	signals chan syscall.Signal              // while its command runs in the shell
	timer   *time.Timer                      // while its command sleeps
	done    chan struct{}                    // closed when its command has ended; nil until something waits
	box     *box                             // its files; nil until something needs them
	stdio   *stdio                           // nil unless clients can attach
}

// run implements Runtime.Run.
func (s *session) run(spec Spec) State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.find(spec.Pod.UID, spec.Container.Name, spec.Number); r != nil {
		if r.state.Phase == Blocked {
			r.pod.newest = spec.Pod
			r.wake()
		}
		return r.state
	}
	if p := s.pods[spec.Pod.UID]; p != nil && p.stopping || s.ctx.Err() != nil {
		return State{}
	}
	r := &run{name: spec.Container.Name, number: spec.Number, args: spec.Args, sidecar: spec.Sidecar, serves: spec.Serves, tty: spec.Container.TTY}
	r.ctx, r.cancel = context.WithCancel(s.ctx)
	s.add(spec.Pod, r)
	c := spec.Container
	r.delay = spec.StopDelay
	d, sleeps := time.Duration(0), false
	if CanRun(c, r.args) && !refersToVariables(r.args) && !c.Stdin && !c.TTY {
		d, sleeps = shell.OnlySleeps(r.args)
		sleeps = sleeps && d != 0
	}
	r.state.InHook = r.runsHook(c)
	prepared := !needsPreparation(spec) && (sleeps || !CanRun(c, r.args) || !s.mountsObjects(spec.Pod, c))
	if len(r.args) > 0 && !(prepared && sleeps) {
		r.stdio = newStdio(c.Stdin, c.StdinOnce)
		if r.tty {
			r.stdio.size = newTerminalSize()
		}
	}
	switch {
	case !prepared:
		r.retry, r.command = make(chan struct{}, 1), spec.CommandOf
		r.pod.newest = spec.Pod
		s.wg.Go(func() { s.prepare(r, spec.Pod, c) })
	case sleeps:
		r.state.Command = true
		s.begin(r, spec.Pod, c)
		s.sleep(r, d)
	case CanRun(c, r.args):
		r.state.Command, r.state.Mounted = true, true
		s.wg.Go(func() { s.execute(r, spec.Pod, c) })
	default:
		s.beginWithoutCommand(r, spec.Pod, c)
	}
	return r.state
}

// beginWithoutCommand makes a run running, unless its postStart hook fails. It needs the lock.
func (s *session) beginWithoutCommand(r *run, of *corev1.Pod, c *corev1.Container) {
	if !r.serves || !failsPostStart(c) {
		s.begin(r, of, c)
		return
	}
	r.state.Probed = true
	s.wg.Go(func() { s.runPostStart(r, of, c, nil) })
}

// sourcesChanged is called when objects have changed that Pods depend on.
func (s *session) sourcesChanged(pods []types.UID) {
	for _, uid := range pods {
		s.mu.Lock()
		p := s.pods[uid]
		var refresh bool
		if p != nil {
			refresh = p.volumes != nil
			for _, c := range p.containers {
				if c.current.state.Phase == Blocked {
					c.current.wake()
				}
			}
		}
		s.mu.Unlock()
		if refresh {
			s.wg.Go(func() { s.refresh(p) })
		}
	}
}

// begin makes a run running. It needs the lock.
func (s *session) begin(r *run, of *corev1.Pod, c *corev1.Container) {
	if r.state.Phase == Ended {
		return
	}
	r.state.Phase, r.state.Reason, r.state.Message, r.state.InHook = Running, "", "", false
	if r.state.StartedAt.IsZero() {
		r.state.StartedAt = time.Now()
	}
	if r.pod.volumes == nil {
		r.pod.newest = nil
	}
	r.state.Probed = r.serves && !r.state.Command
	if !r.state.Decides() {
		r.state.Started, r.state.Ready = true, true
		return
	}
	r.state.Started = !runsProbe(of, c, c.StartupProbe)
	r.state.Ready = r.state.Started && !runsProbe(of, c, c.ReadinessProbe)
	s.probe(r, of, c)
}

// sleep makes a timer the command of a run. It needs the lock.
func (s *session) sleep(r *run, d time.Duration) {
	if d < 0 {
		d = 1<<63 - 1
	}
	r.timer = time.AfterFunc(d, func() { s.end(r, nil, 0, "", "") })
}

// execute runs the command of a run until it ends.
func (s *session) execute(r *run, of *corev1.Pod, c *corev1.Container) {
	b, err := s.openBox(r, of, c)
	if err != nil {
		s.end(r, c, 128, "ContainerCannotRun", err.Error())
		return
	}
	args, err := b.expand(r.args)
	if err != nil {
		s.end(r, c, 128, "ContainerCannotRun", err.Error())
		return
	}
	signals := make(chan syscall.Signal, 8)
	config := b.config(args)
	config.Signals, config.TTY = signals, r.tty
	config.Stdout, config.Stderr = r.output(false), r.output(true)
	if r.tty {
		config.Stderr = config.Stdout
	}
	if r.stdio != nil {
		config.Stdin = r.stdio.stdin()
		if r.tty {
			config.TerminalSize = r.stdio.size.get
		}
	}
	settle := time.AfterFunc(maxSettle, func() { s.settle(r, of, c) })
	config.OnWait = func() { s.settle(r, of, c) }
	s.mu.Lock()
	r.signals = signals
	if r.state.Phase != Ended { // it may have been killed
		r.state.StartedAt = time.Now()
	}
	inHook := r.state.InHook
	s.mu.Unlock()
	ended := make(chan struct{})
	if inHook {
		s.wg.Go(func() { s.runPostStart(r, of, c, ended) })
	}
	result, err := shell.Run(r.ctx, config)
	close(ended)
	settle.Stop()
	if err != nil {
		s.end(r, c, 128, "ContainerCannotRun", err.Error())
		return
	}
	s.end(r, c, int32(result.ExitCode), result.Reason, "")
}

// maxSettle bounds how long a command works before its run is running. A kubelet looks at a container once it has
// started it: one that has ended by then was never running, nor ready.
const maxSettle = time.Second

// settle notes that the command of a run did not end at once.
func (s *session) settle(r *run, of *corev1.Pod, c *corev1.Container) {
	s.mu.Lock()
	begins := !r.state.InHook && r.state.Phase < Running
	if begins {
		s.begin(r, of, c)
	}
	s.mu.Unlock()
	if begins {
		s.changed(r.pod)
	}
}

// end records the end of a run. c is nil if the run has no files of its own.
func (s *session) end(r *run, c *corev1.Container, code int32, reason, message string) {
	s.mu.Lock()
	b := r.box
	s.mu.Unlock()
	r.log.close()
	if c != nil && message == "" {
		message = terminationMessage(b, c, code, &r.log)
	}
	s.mu.Lock()
	if r.state.Phase == Ended {
		s.mu.Unlock()
		return
	}
	if r.state.StartedAt.IsZero() { // its command could not start
		r.state.StartedAt = time.Now()
	}
	r.state.InHook = false
	r.state.Phase, r.state.ExitCode, r.state.Message, r.state.FinishedAt = Ended, code, message, time.Now()
	r.state.Started, r.state.Ready = false, false
	if r.state.Reason = reason; reason == "" {
		r.state.Reason = shell.Completed
		if code != 0 {
			r.state.Reason = shell.Error
		}
	}
	r.box = nil
	if r.done != nil {
		close(r.done)
	}
	if r.stdio != nil {
		r.stdio.close()
	}
	r.cancel()
	s.mu.Unlock()
	if s.ctx.Err() == nil {
		s.changed(r.pod)
	}
}

// terminationMessage returns what a run has left for its status.
func terminationMessage(b *box, c *corev1.Container, code int32, log *Log) string {
	if b != nil && c.TerminationMessagePath != "" {
		if data, err := b.files.ReadFile(c.TerminationMessagePath); err == nil && len(data) > 0 {
			return string(data[max(len(data)-kubecontainer.MaxContainerTerminationMessageLength, 0):])
		}
	}
	if c.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError && code != 0 {
		return log.tail(kubecontainer.MaxContainerTerminationMessageLogLines, kubecontainer.MaxContainerTerminationMessageLogLength)
	}
	return ""
}

// ended returns a channel that is closed when a run has ended. It needs the lock.
func (r *run) ended() <-chan struct{} {
	if r.done == nil {
		r.done = make(chan struct{})
		if r.state.Phase == Ended {
			close(r.done)
		}
	}
	return r.done
}
