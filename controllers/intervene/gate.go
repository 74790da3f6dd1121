// Package intervene changes what happens between a controller's clients and the
// API server: it holds writes and releases them one at a time, delays calls and
// injects faults. Package controllers decides which controllers that applies to, and
// package clients does so for programs outside of the process.
// Package recording watches only; its description of a request is used here, too.
package intervene

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
)

// Gate intercepts the API calls of one run of a controller, or of a client. While an intervention is
// set, it holds writes, delays calls or makes them fail. Without an intervention it
// costs a lock for each write, and nothing for reads.
type Gate struct {
	random    func() float64
	objects   ObjectReader  // for steps
	hasFaults atomic.Bool   // a delay or a fault is set: reads are affected, too
	isClosed  atomic.Bool   // closed is set: reads are refused, too
	stepLock  chan struct{} // full while a step is in progress
	pace      *Pace         // may be nil
	ended     chan struct{} // closed when no sync has to wait any more
	endPacing func()        // closes ended, once

	mu            sync.Mutex
	paused        bool
	closed        error         // the error of every call; nil until the gate is closed
	held          list.List     // of *heldWrite, the oldest first
	inFlight      int           // writes sent and not yet answered
	drained       chan struct{} // closed when inFlight is 0; nil unless Pause waits
	changed       chan struct{} // closed when a write is held or the gate opens
	delay         time.Duration
	faultsCleared chan struct{} // closed when the delay is cleared
	fault         control.Fault

	outdated atomic.Pointer[error] // why RefuseWaiting was last called; nil if it was not
}

// NewGate returns an open gate. A step reads the object of its write with
// objects, before and after.
func NewGate(objects ObjectReader) *Gate {
	ended := make(chan struct{})
	return &Gate{
		random:        rand.Float64,
		objects:       objects,
		stepLock:      make(chan struct{}, 1),
		ended:         ended,
		endPacing:     sync.OnceFunc(func() { close(ended) }),
		changed:       make(chan struct{}),
		faultsCleared: make(chan struct{}),
	}
}

// NewPacedGate returns an open gate that makes syncs wait as a pace demands.
func NewPacedGate(objects ObjectReader, p *Pace) *Gate {
	g := NewGate(objects)
	g.pace = p
	return g
}

// WaitTurn makes the sync of the calling goroutine wait: see Pace.
func (g *Gate) WaitTurn(ctx context.Context) { g.pace.WaitTurn(ctx, g.ended) }

// EndPacing ends the waiting of syncs, for a controller that is to stop.
func (g *Gate) EndPacing() { g.endPacing() }

// ErrNotPaused is the error of a step through a gate that is open.
var ErrNotPaused = errors.New("not paused: pause it first")

// errBodyUnread is the error of a write that would be held with its body unread.
var errBodyUnread = errors.New("the body was not read")

// admitWrite returns when a write may proceed: at once or, if the gate is
// paused, when it is released. The result is for finishWrite; it is nil unless
// the write was held. prepared says that the request may wait.
func (g *Gate) admitWrite(req *http.Request, prepared bool) (*heldWrite, error) {
	g.mu.Lock()
	if g.closed != nil {
		defer g.mu.Unlock()
		return nil, g.closed
	}
	if !g.paused {
		g.inFlight++
		g.mu.Unlock()
		return nil, nil
	}
	if !prepared {
		g.mu.Unlock()
		return nil, errBodyUnread
	}
	h := newHeldWrite(req)
	h.element = g.held.PushBack(h)
	g.notifyWaiters()
	g.mu.Unlock()

	select {
	case <-h.released:
	case <-req.Context().Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case h.element != nil: // canceled before it was released
		g.held.Remove(h.element)
		return nil, req.Context().Err()
	case h.refusal != nil:
		return nil, h.refusal
	}
	if err := req.Context().Err(); err != nil {
		g.abandonWrite(h)
		return nil, err
	}
	return h, nil
}

// abandonWrite ends a write that was released, but canceled before it was sent.
// The caller holds the lock.
func (g *Gate) abandonWrite(h *heldWrite) {
	h.abandoned = true
	g.endWrite(h)
}

// finishWrite ends a write that was admitted and has been answered. h is nil
// unless the write was held.
func (g *Gate) finishWrite(h *heldWrite, resp *http.Response, err error) {
	if h != nil {
		h.setResult(resp, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.endWrite(h)
}

// endWrite requires the lock. A write that was released by a step holds the
// step lock until here, whether or not the caller of Step still waits.
func (g *Gate) endWrite(h *heldWrite) {
	if h != nil {
		close(h.done)
		if h.byStep {
			<-g.stepLock
		}
	}
	if g.inFlight--; g.inFlight == 0 && g.drained != nil {
		close(g.drained)
		g.drained = nil
	}
}

// notifyWaiters wakes the steps that wait for a write. The caller holds the lock.
func (g *Gate) notifyWaiters() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// releaseOldest releases the oldest held write or, with refusal, makes it fail.
// The caller holds the lock.
func (g *Gate) releaseOldest(refusal error, byStep bool) *heldWrite {
	h := g.held.Remove(g.held.Front()).(*heldWrite)
	h.element, h.refusal, h.byStep = nil, refusal, byStep
	if refusal == nil {
		g.inFlight++
	}
	close(h.released)
	return h
}

// releaseAll opens the gate; held writes proceed or, with refusal, fail. The
// caller holds the lock.
func (g *Gate) releaseAll(refusal error) {
	g.paused = false
	for g.held.Len() > 0 {
		g.releaseOldest(refusal, false)
	}
	g.notifyWaiters()
}

// Pause holds all further writes, and returns when none is in flight.
func (g *Gate) Pause(ctx context.Context) error {
	g.mu.Lock()
	if g.closed != nil {
		defer g.mu.Unlock()
		return g.closed
	}
	g.paused = true
	if g.inFlight == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.drained == nil {
		g.drained = make(chan struct{})
	}
	drained := g.drained
	g.mu.Unlock()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("it is paused, but writes in flight are not answered yet: %w", ctx.Err())
	}
}

// Resume releases all held writes, and reports whether the gate was paused.
func (g *Gate) Resume() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil || !g.paused {
		return false
	}
	g.releaseAll(nil)
	return true
}

// CloseWithError refuses all held writes and all further calls with err, and clears the
// delay and the fault. The error of the first call remains.
func (g *Gate) CloseWithError(err error) {
	g.ClearFaults()
	g.EndPacing()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = err
		g.isClosed.Store(true) // before a controller whose write is refused can read
		g.releaseAll(err)
	}
}

// RefuseWaiting makes the writes that Handle holds or delays fail with a conflict, for that
// reason. The gate stays as it is.
func (g *Gate) RefuseWaiting(reason error) {
	g.outdated.Store(&reason)
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.held.Len() > 0 {
		g.releaseOldest(nil, false) // Handle refuses it
	}
}

// refusal returns the error with which the gate was closed; nil if it is not.
func (g *Gate) refusal() error {
	if !g.isClosed.Load() {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// Step releases the oldest held write, and returns when it has been answered. If
// none is held it waits for one until wait ends; then the result is nil.
func (g *Gate) Step(ctx, wait context.Context) (*control.SteppedWrite, error) {
	for {
		h, err := g.releaseNext(wait)
		if err != nil {
			return nil, err
		}
		if h == nil {
			return nil, ctx.Err()
		}
		select {
		case <-h.done:
		case <-ctx.Done(): // the write itself unlocks the next step
			return nil, ctx.Err()
		}
		if !h.abandoned { // otherwise it was canceled just then: take the next one
			return h.result(), nil
		}
	}
}

// releaseNext releases the oldest held write by a step; nil if there is none
// until wait ends. Only one such write is in flight at a time.
func (g *Gate) releaseNext(wait context.Context) (*heldWrite, error) {
	select {
	case g.stepLock <- struct{}{}:
	case <-wait.Done():
		return nil, nil
	}
	for {
		g.mu.Lock()
		if !g.paused {
			g.mu.Unlock()
			<-g.stepLock
			return nil, ErrNotPaused
		}
		if g.held.Len() > 0 {
			defer g.mu.Unlock()
			return g.releaseOldest(nil, true), nil
		}
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-wait.Done():
			<-g.stepLock
			return nil, nil
		}
	}
}

// HeldWrites describes the held writes, the oldest first and at most limit of
// them, and returns how many there are.
func (g *Gate) HeldWrites(limit int) ([]control.HeldWrite, int) {
	held, total := g.oldestWrites(limit)
	writes := make([]control.HeldWrite, 0, len(held))
	for _, h := range held { // without the lock: bodies are decoded
		writes = append(writes, h.describe())
	}
	return writes, total
}

func (g *Gate) oldestWrites(limit int) ([]*heldWrite, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []*heldWrite
	for e := g.held.Front(); e != nil && len(all) < limit; e = e.Next() {
		all = append(all, e.Value.(*heldWrite))
	}
	return all, g.held.Len()
}

// Intervention is what is set on a gate.
type Intervention struct {
	paused bool
	delay  time.Duration
	fault  control.Fault
}

// Intervention returns what is set on the gate.
func (g *Gate) Intervention() Intervention {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Intervention{g.paused, g.delay, g.fault}
}

// Apply sets an intervention on a gate that no call has passed yet.
func (g *Gate) Apply(i Intervention) {
	g.SetDelay(i.delay)
	g.SetFault(i.fault)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paused = i.paused
}
