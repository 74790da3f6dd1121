package instrument

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// The phases of a manager.
const (
	filling  int32 = iota // it waits for the caches that were asked for before its start
	running               // it starts controllers, as soon as it is the leader
	stopping              // controllers may still run
)

// start sends reports until end is called, which sends the last one.
func (r *reporter) start(ctx context.Context) (end func()) {
	if r.started.Swap(true) { // a manager cannot be started twice
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var sending sync.WaitGroup
	sending.Go(func() { r.runUntil(ctx) })
	return func() {
		cancel()
		sending.Wait()
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a process that waits for
// the lease reports, too.
func (r *reporter) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable: a manager calls it when its caches are filled, and ends ctx
// when it stops.
func (r *reporter) Start(ctx context.Context) error {
	r.setPhase(running)
	<-ctx.Done()
	r.setPhase(stopping)
	return nil
}

// sender sends the reports of a program that starts the manager which it gave to Manager. That starts
// what has a cache, as another cluster, before all but its servers, and ends it after its controllers.
type sender struct{ reporter *reporter }

// Start implements manager.Runnable. It never fails: the operator does not depend on it.
func (s *sender) Start(ctx context.Context) error {
	if !s.reporter.started.Swap(true) {
		s.reporter.runUntil(ctx)
	}
	return nil
}

// GetCache returns what the manager waits for.
func (s *sender) GetCache() cache.Cache { return filledCache{} }

// filledCache is a cache without informers.
type filledCache struct{ cache.Cache }

func (filledCache) WaitForCacheSync(context.Context) bool { return true }

func (r *reporter) setPhase(phase int32) {
	r.phase.Store(phase)
	r.wakeUp()
}

// runUntil sends reports until ctx ends, and then the last one, unless the control plane does not take them:
// the process may have to end soon, as after the loss of its lease.
func (r *reporter) runUntil(ctx context.Context) {
	for r.run(ctx) {
		r.waitForRecords(ctx)
	}
	if r.known && !r.isOff() && !r.isAway() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.closeTimeout)
		defer cancel()
		_ = r.send(ctx, true) // the control plane notices the end by itself, later
	}
	r.turnOff()
}

// flush returns when what was appended so far was sent, or after a moment; at once while the
// control plane does not take reports.
func (r *reporter) flush() {
	r.mu.Lock()
	if r.isOff() || r.away {
		r.mu.Unlock()
		return
	}
	if r.flushed == nil {
		r.flushed = make(chan struct{})
	}
	flushed := r.flushed
	r.flushUpTo = r.appended
	r.mu.Unlock()
	r.wakeUp()
	timer := time.NewTimer(r.flushTimeout)
	defer timer.Stop()
	select {
	case <-flushed:
	case <-timer.C:
		r.setAway(true)
	}
}

func (r *reporter) isAway() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.away
}

// setAway notes whether the control plane does not take reports.
func (r *reporter) setAway(away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = away
}

// noteSent is called when a report was taken.
func (r *reporter) noteSent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.flushed == nil || r.unsentUpTo < r.flushUpTo {
		return
	}
	close(r.flushed)
	r.flushed = nil
}
