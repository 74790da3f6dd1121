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
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Gate intercepts the API calls of one run of a controller, or of a client. While an intervention is
// set, it holds writes, delays calls or makes them fail. Without an intervention it
// costs a lock and the parsing of the URL for each write, and nothing for reads.
type Gate struct {
	random       func() float64
	objects      ObjectReader  // for steps
	affectsCalls atomic.Bool   // a delay or a fault is set: reads are affected, too
	isClosed     atomic.Bool   // closed is set: reads are refused, too
	stepLock     chan struct{} // full while a step is in progress
	pace         *Pace         // may be nil
	ended        chan struct{} // closed when no sync has to wait any more
	endPacing    func()        // closes ended, once
	path         []*Gate       // that a call passes: an outer gate, if there is one, and this one

	*heldWrites
	watches            map[*openWatch]bool
	current            observe.Interventions
	closed             error         // the error of every call; nil until the gate is closed
	final              error         // the error of every further intervention; nil while they are accepted
	inFlight           int           // writes sent and not yet answered
	drained            chan struct{} // closed when inFlight is 0; nil unless Pause waits
	changed            chan struct{} // closed when a write is held or the gate opens
	callEffectsCleared chan struct{} // closed when they are cleared

	outdated atomic.Pointer[error] // why RefuseWaiting was last called; nil if it was not
}

// heldWrites are the writes that an outer gate and those inside it hold. Its lock is that
// of all of them.
type heldWrites struct {
	mu   sync.Mutex
	list list.List // of *heldWrite, the oldest first
}

// NewGate returns an open gate. A step reads the object of its write with
// objects, before and after.
func NewGate(objects ObjectReader) *Gate {
	ended := make(chan struct{})
	g := &Gate{
		heldWrites:         &heldWrites{},
		watches:            map[*openWatch]bool{},
		random:             rand.Float64,
		objects:            objects,
		stepLock:           make(chan struct{}, 1),
		ended:              ended,
		endPacing:          sync.OnceFunc(func() { close(ended) }),
		changed:            make(chan struct{}),
		callEffectsCleared: make(chan struct{}),
	}
	g.path = []*Gate{g}
	return g
}

// NewInnerGate returns an open gate of some of the calls of g. Such a call is given to the
// inner gate, and passes both. A write is held while one of them is paused. A step of
// either performs it.
func (g *Gate) NewInnerGate() *Gate {
	inner := NewGate(g.objects)
	inner.heldWrites, inner.path = g.heldWrites, []*Gate{g, inner}
	return inner
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

// errBodyUnread is the error of a write that would be held with its body unread.
var errBodyUnread = errors.New("the body was not read")

// admitWrite returns when a write may proceed: at once or, if the gate is
// paused, when it is released. The result is for finishWrite; it is nil unless
// the write was held. prepared says that the request may wait.
func (g *Gate) admitWrite(req *http.Request, prepared bool) (*heldWrite, error) {
	g.mu.Lock()
	if err := g.closedError(); err != nil {
		defer g.mu.Unlock()
		return nil, err
	}
	if !isPaused(g.path) {
		g.beginWrite()
		g.mu.Unlock()
		return nil, nil
	}
	if !prepared {
		g.mu.Unlock()
		return nil, errBodyUnread
	}
	h := newHeldWrite(req, g)
	h.element = g.list.PushBack(h)
	for _, p := range g.path {
		p.notifyWaiters()
	}
	g.mu.Unlock()

	select {
	case <-h.released:
	case <-req.Context().Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case h.element != nil: // canceled before it was released
		g.list.Remove(h.element)
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

// closedError returns the error of the first gate of the path that is closed. The caller
// holds the lock.
func (g *Gate) closedError() error {
	for _, p := range g.path {
		if p.closed != nil {
			return p.closed
		}
	}
	return nil
}

func isPaused(path []*Gate) bool {
	return slices.ContainsFunc(path, func(g *Gate) bool { return g.current.Paused })
}

// beginWrite notes that a write is sent. The caller holds the lock.
func (g *Gate) beginWrite() {
	for _, p := range g.path {
		p.inFlight++
	}
}

// endWrite requires the lock. A write that was released by a step holds the
// step lock until here, whether or not the caller of Step still waits.
func (g *Gate) endWrite(h *heldWrite) {
	if h != nil {
		close(h.done)
		if h.stepped != nil {
			<-h.stepped.stepLock
		}
	}
	for _, p := range g.path {
		if p.inFlight--; p.inFlight == 0 && p.drained != nil {
			close(p.drained)
			p.drained = nil
		}
	}
}

// notifyWaiters wakes the steps that wait for a write. The caller holds the lock.
func (g *Gate) notifyWaiters() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// held returns the held writes that pass the gate, the oldest first. The caller holds the
// lock.
func (g *Gate) held() iter.Seq[*heldWrite] {
	return func(yield func(*heldWrite) bool) {
		for e := g.list.Front(); e != nil; {
			h := e.Value.(*heldWrite)
			e = e.Next() // h may be removed
			if slices.Contains(h.gate.path, g) && !yield(h) {
				return
			}
		}
	}
}

// release releases a held write, by a step of stepped if that is not nil, or with refusal
// makes it fail. The caller holds the lock.
func (h *heldWrite) release(refusal error, stepped *Gate) {
	h.gate.list.Remove(h.element)
	h.element, h.refusal, h.stepped = nil, refusal, stepped
	if refusal == nil {
		h.gate.beginWrite()
	}
	close(h.released)
}

// releaseAll opens the gate; held writes proceed, unless another gate holds them, or, with
// refusal, fail. The caller holds the lock.
func (g *Gate) releaseAll(refusal error) {
	g.current.Paused = false
	for h := range g.held() {
		if refusal != nil || !isPaused(h.gate.path) {
			h.release(refusal, nil)
		}
	}
	g.notifyWaiters()
}

// Pause holds all further writes, and returns when none is in flight.
func (g *Gate) Pause(ctx context.Context) error {
	g.mu.Lock()
	if g.final != nil {
		defer g.mu.Unlock()
		return g.final
	}
	g.current.Paused = true
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
	if g.closed != nil || !g.current.Paused {
		return false
	}
	g.releaseAll(nil)
	return true
}

// CloseWithError refuses all held writes and all further calls with err, and clears the
// delay and the fault. The error of the first call remains.
func (g *Gate) CloseWithError(err error) {
	g.ClearCallEffects()
	g.EndPacing()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed, g.final = err, err
		g.isClosed.Store(true) // before a controller whose write is refused can read
		g.releaseAll(err)
	}
}

// CloseIfActive does what CloseWithError does if an intervention is set. Otherwise calls go on, but the gate
// refuses interventions with err from now on.
func (g *Gate) CloseIfActive(err error) {
	g.mu.Lock()
	active := g.current != (observe.Interventions{})
	if g.final == nil {
		g.final = err
	}
	g.mu.Unlock()
	if active {
		g.CloseWithError(err)
	}
}

// RefuseWaiting makes the writes that Handle holds or delays fail with a conflict, for that
// reason. The gate stays as it is.
func (g *Gate) RefuseWaiting(reason error) {
	g.outdated.Store(&reason)
	g.mu.Lock()
	defer g.mu.Unlock()
	for h := range g.held() {
		h.release(nil, nil) // Handle refuses it
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
