package container

import (
	"context"
	"math"
	"slices"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/internal/sleep"
)

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
	return Seconds(seconds)
}

// Seconds returns a number of seconds as a duration, at most the longest one: users write numbers that overflow.
func Seconds(n int64) time.Duration {
	const most = int64(math.MaxInt64 / time.Second)
	return time.Duration(min(max(n, -most), most)) * time.Second
}

// stopRun stops a run: preStop hook, SIGTERM once the channels in before are closed, and
// SIGKILL at the deadline, but not sooner than minimumGracePeriod after SIGTERM. It returns
// when the run has ended.
func (s *session) stopRun(r *run, of *corev1.Pod, c *corev1.Container, deadline time.Time, before ...<-chan struct{}) {
	s.mu.Lock()
	if r.state.Phase == Ended || !r.state.Decides() && !(r.pod.stopping && r.delaysStop()) {
		r.cancel()
		s.mu.Unlock()
		return
	}
	ended, idle, began := r.ended(), !r.state.Command, r.stopping
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
	if idle {
		sleep.For(ctx, r.delay)
	} else {
		s.preStop(ctx, r, of, c)
	}
	for _, stopped := range before {
		select {
		case <-stopped:
		case <-ctx.Done():
		}
	}
	if idle {
		s.end(r, nil, int32(exitSIGTERM), "", "")
		return
	}
	s.terminate(r)
	s.awaitEnd(ctx, r, ended)
}

// delaysStop reports whether a run without a command has a preStop hook that sleeps. It needs the lock.
func (r *run) delaysStop() bool { return !r.state.Command && r.state.Phase == Running && r.delay > 0 }

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
