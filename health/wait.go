package health

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/objectclients"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/observe"
)

// reasonTimeout limits the search for the reasons of all objects together.
const reasonTimeout = 5 * time.Second

// afterDeadline returns a context with reasonTimeout to say why something has not worked, also if ctx has reached its deadline. If ctx is
// canceled, so is it.
func afterDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), reasonTimeout)
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})
	return after, func() {
		stop()
		cancel()
	}
}

// Waiter waits for objects. It is safe for concurrent use.
type Waiter struct {
	kinds   discovery.DiscoveryInterfaceWithContext
	objects dynamic.Interface
	records observe.Source // nil if there are none
}

// Options say what to wait for.
type Options struct {
	// Gone waits until the objects are gone instead of healthy.
	Gone bool
	// Progress, if not nil, is called with the first state of each object and whenever
	// it changes, on the goroutine that called Wait.
	Progress func(State)
	// Records, if not nil, are those of the control plane, as for WithRecords. They know which Jobs do not exist because their time
	// to live has ended.
	Records observe.Source
	// Doubtful, if not nil, is called before Wait returns, unless it was canceled, for each healthy object with a Doubt that Progress was
	// not given, such as that of a Service without a ready Pod. Gone turns it off.
	Doubtful func(State)
}

// New returns a waiter that uses cfg without its rate limit.
func New(cfg *rest.Config) (*Waiter, error) {
	clients, err := objectclients.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	return &Waiter{kinds: clients.Kinds, objects: clients.Objects}, nil
}

// At returns a waiter whose Why and WhyOf explain an object by the others as they were at a resource version.
func (w *Waiter) At(version string) *Waiter {
	return &Waiter{kinds: w.kinds, objects: objectclients.At(w.objects, version), records: w.records}
}

// Wait returns as soon as all objects are healthy at the same time, or gone if o.Gone
// is set. A Job that no longer exists because its time to live has ended is what its last version is. Objects need
// not exist, nor their kinds be served, when it is called. If ctx reaches its deadline, or an object can never become healthy, the error is a
// [*NotHealthyError]. If ctx is canceled, the error is its cause.
func (w *Waiter) Wait(ctx context.Context, refs []Ref, o Options) error {
	ctx = requestlog.Discard(ctx)
	if o.Records != nil {
		w = w.WithRecords(o.Records)
	}
	watching, stop := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer stop()
	t := newTracker(refs, o)
	changes := make(chan objectUpdate)
	for _, objects := range t.newWatchers(w, changes) {
		watchers.Go(func() { objects.run(watching) })
	}
	var giveUp <-chan time.Time // on seeing the other objects, once one is hopeless
	for !t.allSatisfied() {
		select {
		case <-giveUp:
			return w.notHealthy(ctx, t, nil)
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return fmt.Errorf("health: %w", context.Cause(ctx))
			}
			return w.notHealthy(ctx, t, context.Cause(ctx))
		case c := <-changes:
			t.applyUpdate(c)
		}
		switch {
		case !t.isHopeless():
			giveUp = nil
		case t.allSeen():
			return w.notHealthy(ctx, t, nil)
		case giveUp == nil:
			giveUp = time.After(reasonTimeout)
		}
	}
	w.reportDoubts(ctx, t)
	return nil
}

// notHealthy returns the error for the objects that do not satisfy the wait.
func (w *Waiter) notHealthy(ctx context.Context, t *tracker, cause error) error {
	w.reportDoubts(ctx, t)
	ctx, cancel := afterDeadline(ctx)
	defer cancel()
	e := &NotHealthyError{Total: len(t.objects), Gone: t.Gone, Cause: cause}
	var cache *searchCache
	if len(t.objects) > 1 {
		cache = newSearchCache()
	}
	for i := range t.objects {
		if entry := &t.objects[i]; !t.isSatisfied(entry) {
			u := w.newSearch(ctx, searchOptions{}, cache).explainState(entry, t.Gone)
			if !t.Gone {
				u.noteExpiry(entry.object, !entry.isLast)
			}
			e.Objects = append(e.Objects, u)
		}
	}
	return e
}
