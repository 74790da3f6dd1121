package controllers

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
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Gate lies between one life of a controller and the API server. A hand on it
// holds writes, slows calls down or makes them fail. Without one it costs a
// lock a write, and nothing a read.
type Gate struct {
	random    func() float64
	objects   ObjectReader  // for steps
	hasFaults atomic.Bool   // a delay or a fault is set: reads look at it, too
	stepLock  chan struct{} // full while a step is under way: they go one at a time

	mu            sync.Mutex
	paused        bool
	closed        error         // why no write passes any more
	held          list.List     // of *hold, the oldest first
	inFlight      int           // writes on their way
	drained       chan struct{} // closed when none is; nil unless somebody waits
	changed       chan struct{} // closed when something is held or the gate opens
	delay         time.Duration
	faultsCleared chan struct{} // closed when the delay is taken back
	fault         control.Fault
}

func NewGate() *Gate {
	return &Gate{random: rand.Float64, stepLock: make(chan struct{}, 1), changed: make(chan struct{}), faultsCleared: make(chan struct{})}
}

var ErrNotPaused = errors.New("it is not paused: pause it first")

// admitWrite lets a write through, at once or when its turn has come. What it
// returns is for leave; nil unless the write was held.
func (g *Gate) admitWrite(req *http.Request) (*heldWrite, error) {
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
	case h.element != nil: // its caller has given up
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

// abandonWrite is for a write that was let go, but not carried out: its caller has
// given up. It needs the lock.
func (g *Gate) abandonWrite(h *heldWrite) {
	g.endWrite()
	h.abandoned = true
	close(h.done)
}

// finishWrite is called when a write that has entered has been answered.
func (g *Gate) finishWrite(h *heldWrite, resp *http.Response, err error) {
	if h != nil {
		h.setResult(resp, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.endWrite()
}

// endWrite needs the lock.
func (g *Gate) endWrite() {
	if g.inFlight--; g.inFlight == 0 && g.drained != nil {
		close(g.drained)
		g.drained = nil
	}
}

// notifyWaiters wakes whoever waits for something to be held. It needs the lock.
func (g *Gate) notifyWaiters() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// releaseOldest lets the oldest held write go, by a step or not. It needs the lock.
func (g *Gate) releaseOldest(refused error, step bool) *heldWrite {
	h := g.held.Remove(g.held.Front()).(*heldWrite)
	h.element, h.refusal, h.byStep = nil, refused, step
	if refused == nil {
		g.inFlight++
	}
	close(h.released)
	return h
}

// releaseAll lets all go, or refuses it. It needs the lock.
func (g *Gate) releaseAll(refused error) {
	g.paused = false
	for g.held.Len() > 0 {
		g.releaseOldest(refused, false)
	}
	g.notifyWaiters()
}

// Pause holds all further writes, and returns when none is on its way.
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
	landed := g.drained
	g.mu.Unlock()
	select {
	case <-landed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("it is paused, but writes that were on their way are not answered yet: %w", ctx.Err())
	}
}

func (g *Gate) Resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.releaseAll(nil)
	}
}

// CloseWithError refuses what is held and every write from now on. No hand is on the gate
// any more.
func (g *Gate) CloseWithError(why error) {
	g.ClearFaults()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = why
		g.releaseAll(why)
	}
}

// Step lets the oldest held write through and returns when it has been
// answered. Without one it waits for it as long as wait; then it is nil.
func (g *Gate) Step(ctx, wait context.Context) (*control.SteppedWrite, error) {
	select {
	case g.stepLock <- struct{}{}:
	case <-wait.Done():
		return nil, ctx.Err()
	}
	under := g.stepLock
	defer func() {
		if under != nil {
			<-under
		}
	}()
	for {
		g.mu.Lock()
		if !g.paused {
			g.mu.Unlock()
			return nil, usage.Errorf("%w", ErrNotPaused)
		}
		if g.held.Len() == 0 {
			arrived := g.changed
			g.mu.Unlock()
			select {
			case <-arrived:
				continue
			case <-wait.Done():
				return nil, ctx.Err()
			}
		}
		h := g.releaseOldest(nil, true)
		g.mu.Unlock()
		select {
		case <-h.done:
		case <-ctx.Done():
			under = nil
			go func() { <-h.done; <-g.stepLock }()
			return nil, ctx.Err()
		}
		if !h.abandoned { // else its caller gave up just then: the next one
			return h.result(), nil
		}
	}
}

// HeldWrites describes the oldest limit held writes, and tells how many there are.
func (g *Gate) HeldWrites(limit int) ([]*heldWrite, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []*heldWrite
	for e := g.held.Front(); e != nil && len(all) < limit; e = e.Next() {
		all = append(all, e.Value.(*heldWrite))
	}
	return all, g.held.Len()
}
