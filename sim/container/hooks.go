package container

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// hook returns the postStart or the preStop hook of a container if it can run; nil
// otherwise.
func hook(c *corev1.Container, postStart bool) *corev1.LifecycleHandler {
	if c.Lifecycle == nil {
		return nil
	}
	h := c.Lifecycle.PreStop
	if postStart {
		h = c.Lifecycle.PostStart
	}
	if h == nil || h.Sleep == nil && (h.Exec == nil || !CanRun(c, h.Exec.Command)) {
		return nil
	}
	return h
}

// runHook runs a hook and returns what went wrong.
func (s *session) runHook(ctx context.Context, r *run, of *corev1.Pod, c *corev1.Container, h *corev1.LifecycleHandler) error {
	if h.Sleep != nil {
		select {
		case <-time.After(time.Duration(h.Sleep.Seconds) * time.Second):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	code, _, err := s.capture(ctx, r, of, c, h.Exec.Command)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d", code)
	}
	return err
}

const maxCaptured = 10 << 10 // as the kubelet captures of a probe

// capture runs a command in a container and returns its exit code and its output.
func (s *session) capture(ctx context.Context, r *run, of *corev1.Pod, c *corev1.Container, args []string) (int, string, error) {
	b, err := s.openBox(r, of, c)
	if err != nil {
		return 0, "", err
	}
	output := &limitedBuffer{}
	config := b.config(args)
	config.Stdout, config.Stderr = output, output
	result, err := shell.Run(ctx, config)
	return result.ExitCode, output.String(), err
}

// limitedBuffer keeps the beginning of what is written to it.
type limitedBuffer struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(maxCaptured-b.Len(), 0))])
	return len(p), nil
}

// runPostStart runs the postStart hook of a run, which is running after that.
func (s *session) runPostStart(r *run, of *corev1.Pod, c *corev1.Container, ended <-chan struct{}) {
	if h := hook(c, true); h != nil {
		ctx, cancel := context.WithCancel(r.ctx)
		defer cancel()
		go func() {
			select {
			case <-ended:
				cancel()
			case <-ctx.Done():
			}
		}()
		if err := s.runHook(ctx, r, of, c, h); err != nil && ctx.Err() == nil {
			s.cfg.RecordEvent(of, r.name, corev1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed")
			s.cfg.RecordEvent(of, r.name, corev1.EventTypeNormal, "Killing", "FailedPostStartHook")
			s.stopRun(r, of, c, time.Now().Add(gracePeriod(of, nil)))
			return
		}
	}
	s.mu.Lock()
	s.begin(r, of, c)
	s.mu.Unlock()
	s.changed(r.pod)
}

// gracePeriod returns how long a container may take to stop.
func gracePeriod(of *corev1.Pod, probe *corev1.Probe) time.Duration {
	seconds := int64(corev1.DefaultTerminationGracePeriodSeconds)
	switch {
	case probe != nil && probe.TerminationGracePeriodSeconds != nil:
		seconds = *probe.TerminationGracePeriodSeconds
	case of.DeletionGracePeriodSeconds != nil:
		seconds = *of.DeletionGracePeriodSeconds
	case of.Spec.TerminationGracePeriodSeconds != nil:
		seconds = *of.Spec.TerminationGracePeriodSeconds
	}
	return time.Duration(seconds) * time.Second
}

// stopRun stops a run: preStop hook, SIGTERM once the channels in before are closed, and
// SIGKILL at the deadline, but not sooner than minimumGracePeriod after SIGTERM. It returns
// when the run has ended.
func (s *session) stopRun(r *run, of *corev1.Pod, c *corev1.Container, deadline time.Time, before ...<-chan struct{}) {
	s.mu.Lock()
	if r.state.Phase == Ended || !r.state.Decides() {
		r.cancel()
		s.mu.Unlock()
		return
	}
	ended, probed, began := r.ended(), r.state.Probed, r.stopping
	r.stopping = true
	if began {
		s.mu.Unlock()
		<-ended
		return
	}
	if at := r.pod.killAt; !at.IsZero() && at.Before(deadline) {
		deadline = at
	}
	ctx, expire := context.WithDeadline(r.ctx, deadline)
	defer expire()
	r.expire = expire
	s.mu.Unlock()
	if !probed {
		s.preStop(ctx, r, of, c)
	}
	for _, stopped := range before {
		select {
		case <-stopped:
		case <-ctx.Done():
		}
	}
	if probed {
		s.end(r, nil, int32(exitSIGTERM), "", "")
		return
	}
	s.terminate(r)
	s.awaitEnd(ctx, r, ended)
}

// awaitEnd waits until a run that got SIGTERM has ended. It kills the run when ctx has ended,
// with its grace period.
func (s *session) awaitEnd(ctx context.Context, r *run, ended <-chan struct{}) {
	least, cancel := context.WithTimeout(r.ctx, minimumGracePeriod)
	defer cancel()
	for _, period := range []context.Context{least, ctx} {
		select {
		case <-ended:
			return
		case <-period.Done():
		}
	}
	s.killRun(r)
	<-ended
}

// replace implements Runtime.Replace.
func (s *session) replace(of *corev1.Pod, name string, number int32, why Replacement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(of.UID, name, number)
	if r == nil || r.state.Phase == Ended || r.state.Replaced != NotReplaced || r.pod.stopping || s.ctx.Err() != nil {
		return
	}
	r.state.Replaced = why
	s.wg.Go(func() { s.stopRun(r, of, containerOf(of, name), time.Now().Add(gracePeriod(of, nil))) })
}

// minimumGracePeriod is how long a command has for SIGTERM at least, as with a kubelet.
const minimumGracePeriod = 2 * time.Second

// preStop runs the preStop hook of a run until ctx ends, with its grace period.
func (s *session) preStop(ctx context.Context, r *run, of *corev1.Pod, c *corev1.Container) {
	h := hook(c, false)
	if h == nil || ctx.Err() != nil {
		return
	}
	// Upstream keeps the error out of the event: it may contain secrets.
	if err := s.runHook(ctx, r, of, c, h); err != nil && ctx.Err() == nil {
		s.cfg.RecordEvent(of, r.name, corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed")
	}
}

// terminate asks the command of a run to end.
func (s *session) terminate(r *run) {
	s.mu.Lock()
	timer, signals := r.timer, r.signals
	s.mu.Unlock()
	switch {
	case timer != nil:
		timer.Stop()
		s.end(r, nil, int32(exitSIGTERM), "", "")
	case signals != nil:
		select {
		case signals <- syscall.SIGTERM:
		default: // it does not receive them
		}
	default: // its preparation has not ended
		s.killRun(r)
	}
}

// killRun ends a run by force.
func (s *session) killRun(r *run) {
	r.cancel()
	s.mu.Lock()
	timer, prepared := r.timer, r.signals != nil || r.timer != nil
	s.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
	if timer != nil || !prepared {
		s.end(r, nil, int32(exitSIGKILL), "", "")
	}
}

// stopPod implements Runtime.StopPod.
func (s *session) stopPod(of *corev1.Pod, deadline time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pods[of.UID]
	if p == nil {
		return time.Time{}
	}
	if !p.runs() {
		p.stopping = true
		s.kill(p) // what is blocked
		p.volumes, p.newest = nil, nil
		s.forget(p)
		return time.Time{}
	}
	if p.killTimer == nil || deadline.Before(p.killAt) {
		if p.killTimer != nil {
			p.killTimer.Stop()
		}
		p.killAt = deadline
		p.killTimer = time.AfterFunc(time.Until(deadline), func() { s.expirePod(p) })
	}
	if !p.stopping {
		p.stopping = true
		s.wg.Go(func() { s.stopContainers(p, of, deadline) })
	}
	return p.killAt
}

// expirePod ends the grace period of all runs of a Pod that stop: stopRun ends them.
func (s *session) expirePod(p *pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range p.containers {
		if c.current.expire != nil {
			c.current.expire()
		}
	}
}

// stopContainers stops the containers of a Pod. Their hooks run at the same time; sidecars
// get SIGTERM once the main containers have ended, the last one first, or when the grace
// period is over.
func (s *session) stopContainers(p *pod, of *corev1.Pod, deadline time.Time) {
	s.mu.Lock()
	var sidecars, others []*run
	for _, c := range p.containers {
		if c.current.sidecar {
			sidecars = append(sidecars, c.current)
		} else {
			others = append(others, c.current)
		}
	}
	s.mu.Unlock()
	var stops sync.WaitGroup
	stop := func(r *run, before []<-chan struct{}) <-chan struct{} {
		stopped := make(chan struct{})
		stops.Go(func() {
			defer close(stopped)
			s.stopRun(r, of, containerOf(of, r.name), deadline, before...)
		})
		return stopped
	}
	var before []<-chan struct{}
	for _, r := range others {
		if stopped := stop(r, nil); isMain(of, r.name) {
			before = append(before, stopped)
		}
	}
	for _, r := range slices.Backward(sidecars) {
		before = append(before, stop(r, before))
	}
	stops.Wait()
	if s.ctx.Err() == nil {
		s.changed(p)
	}
}

// isMain reports whether a Pod has a main container of that name.
func isMain(of *corev1.Pod, name string) bool {
	return slices.ContainsFunc(of.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
}

// containerOf returns a container of a Pod, also an ephemeral one.
func containerOf(of *corev1.Pod, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{of.Spec.Containers, of.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	for i := range of.Spec.EphemeralContainers {
		if of.Spec.EphemeralContainers[i].Name == name {
			c := corev1.Container(of.Spec.EphemeralContainers[i].EphemeralContainerCommon)
			return &c
		}
	}
	return &corev1.Container{Name: name}
}
