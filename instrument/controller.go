package instrument

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// maxError is the longest error of a sync that is reported.
const maxError = 1 << 10

// controller is a controller of the operator.
type controller struct {
	name     string
	workers  int
	dies     bool // a panic of its reconciler ends the process
	reporter *reporter
	keys     *keys
	queue    atomic.Pointer[workQueue] // nil until the controller starts
	state    atomic.Int32
	inner    reconcile.Reconciler
}

// The states of a controller.
const (
	added    int32 = iota // the manager has not started it
	starting              // its workers wait for its caches
	working
)

// setState notes a state, which is reported soon.
func (c *controller) setState(state int32) {
	if c.state.Swap(state) != state {
		c.reporter.wakeUp()
	}
}

// observeController changes a controller that is about to be added to the manager such
// that its queue and its reconciler are observed. It returns what is to be added. A
// Runnable that is not a controller is returned as it is.
//
// controller-runtime has no option for this. Its type of controllers is internal, but the
// fields are exported, and nothing has read them before the controller starts.
func observeController(r *reporter, runnable manager.Runnable) (manager.Runnable, error) {
	v := reflect.ValueOf(runnable)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct || !isController(v.Elem().Type()) {
		return runnable, nil
	}
	v = v.Elem()
	c := &controller{reporter: r, keys: newKeys(&r.numbers)}
	name, _ := fieldOf[string](v, "Name")
	do, hasReconciler := fieldOf[reconcile.Reconciler](v, "Do")
	create, hasQueue := fieldOf[newQueue](v, "NewQueue")
	if name == nil || !hasReconciler || !hasQueue {
		return runnable, fmt.Errorf("%s has requests of a type of its own, or this version of controller-runtime is not known", v.Type())
	}
	lifetime, ok := runnable.(controllerLifetime)
	if !ok {
		return runnable, fmt.Errorf("%s has no warmup: this version of controller-runtime is not known", v.Type())
	}
	if workers, ok := fieldOf[int](v, "MaxConcurrentReconciles"); ok {
		c.workers = *workers
	}
	if recovers, ok := fieldOf[*bool](v, "RecoverPanic"); !ok || *recovers != nil && !**recovers {
		c.dies = true
	}
	c.name, c.inner = *name, *do
	if err := r.addController(c); err != nil {
		return runnable, err
	}
	*do, *create = c, wrapQueue(c, *create)
	return &observedRunnable{lifetime, c}, nil
}

// isController reports whether a type is controller-runtime's for controllers.
func isController(t reflect.Type) bool {
	return strings.HasPrefix(t.PkgPath(), "sigs.k8s.io/controller-runtime/") && strings.HasPrefix(t.Name(), "Controller[")
}

// fieldOf returns a pointer to a field, if it exists and has that type.
func fieldOf[T any](v reflect.Value, name string) (*T, bool) {
	f := v.FieldByName(name)
	if !f.IsValid() || !f.CanAddr() || !f.CanSet() {
		return nil, false
	}
	p, ok := f.Addr().Interface().(*T)
	return p, ok
}

// controllerLifetime is what a manager needs of a controller.
type controllerLifetime interface {
	manager.Runnable
	manager.LeaderElectionRunnable
	Warmup(context.Context) error
}

// observedRunnable tells the cache, by the context, which controller asks for informers.
type observedRunnable struct {
	controllerLifetime
	controller *controller
}

type controllerKey struct{}

// Start implements manager.Runnable.
func (o *observedRunnable) Start(ctx context.Context) error {
	o.controller.setState(starting)
	return o.controllerLifetime.Start(context.WithValue(ctx, controllerKey{}, o.controller))
}

// Warmup starts the event sources before the leader election.
func (o *observedRunnable) Warmup(ctx context.Context) error {
	return o.controllerLifetime.Warmup(context.WithValue(ctx, controllerKey{}, o.controller))
}

type syncKey struct{}

// Reconcile implements reconcile.Reconciler.
func (c *controller) Reconcile(ctx context.Context, key reconcile.Request) (result reconcile.Result, err error) {
	s := c.keys.runningSync(key)
	if s == nil || c.reporter.isOff() {
		return c.inner.Reconcile(ctx, key)
	}
	s.err = "the reconciler did not return" // after runtime.Goexit
	defer s.reportPanic()
	result, err = c.inner.Reconcile(context.WithValue(ctx, syncKey{}, s), key)
	s.err = ""
	if err != nil {
		s.err = errorText(fmt.Sprint(err)) // which survives an Error method that panics
	}
	return result, err
}

// shorten returns at most limit bytes of a text.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// begin is called by the worker's goroutine when it has taken a key.
func (c *controller) begin(key reconcile.Request) {
	if c.reporter.isOff() {
		return
	}
	s := c.keys.take(c, key)
	s.leave = c.reporter.goroutines.enter(work{sync: s})
	c.reporter.append(record{Began: s.beganRecord()})
}

// end is called when the worker is done with a key.
func (c *controller) end(key reconcile.Request) {
	s, next := c.keys.end(key)
	if s == nil {
		return
	}
	s.leave()
	e := &endedRecord{beganRecord: *s.beganRecord(), Took: time.Since(s.began), Error: s.err, Requeued: next != nil}
	if f := s.from; f != nil {
		e.Waited, e.Add, e.Unsure = s.waited(), f.number, f.unsure
		switch {
		case f.by.event != nil:
			e.Event = f.by.event.id
		case f.by.sync != nil:
			e.Sync = f.by.sync.id
		}
	}
	s.from = nil // a key that is requeued forever would keep all its syncs
	c.reporter.appendEnd(e, c.keys, next)
}

func (s *syncRun) beganRecord() *beganRecord {
	return &beganRecord{ID: s.id, Controller: s.controller.name, Key: requestKey(s.key), Time: s.began}
}
