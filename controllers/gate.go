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

// gate lies between one life of a controller and the API server. A hand on it
// holds writes, slows calls down or makes them fail. Without one it costs a
// lock a write, and nothing a read.
type gate struct {
	random   func() float64
	look     looker        // for steps
	meddles  atomic.Bool   // a delay or a fault is set: reads look at it, too
	stepping chan struct{} // full while a step is under way: they go one at a time

	mu      sync.Mutex
	paused  bool
	ended   error         // why no write passes any more
	held    list.List     // of *hold, the oldest first
	flying  int           // writes on their way
	landed  chan struct{} // closed when none is; nil unless somebody waits
	arrived chan struct{} // closed when something is held or the gate opens
	delay   time.Duration
	lifted  chan struct{} // closed when the delay is taken back
	fault   control.Fault
}

func newGate() *gate {
	return &gate{random: rand.Float64, stepping: make(chan struct{}, 1), arrived: make(chan struct{}), lifted: make(chan struct{})}
}

var errNotPaused = errors.New("it is not paused: pause it first")

// enter lets a write through, at once or when its turn has come. What it
// returns is for leave; nil unless the write was held.
func (g *gate) enter(req *http.Request) (*hold, error) {
	g.mu.Lock()
	if g.ended != nil {
		defer g.mu.Unlock()
		return nil, g.ended
	}
	if !g.paused {
		g.flying++
		g.mu.Unlock()
		return nil, nil
	}
	h := newHold(req)
	h.place = g.held.PushBack(h)
	g.announce()
	g.mu.Unlock()

	select {
	case <-h.released:
	case <-req.Context().Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case h.place != nil: // its caller has given up
		g.held.Remove(h.place)
		return nil, req.Context().Err()
	case h.refused != nil:
		return nil, h.refused
	}
	if err := req.Context().Err(); err != nil {
		g.giveUp(h)
		return nil, err
	}
	return h, nil
}

// giveUp is for a write that was let go, but not carried out: its caller has
// given up. It needs the lock.
func (g *gate) giveUp(h *hold) {
	g.land()
	h.given = true
	close(h.answered)
}

// leave is called when a write that has entered has been answered.
func (g *gate) leave(h *hold, resp *http.Response, err error) {
	if h != nil {
		h.answer(resp, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.land()
}

// land needs the lock.
func (g *gate) land() {
	if g.flying--; g.flying == 0 && g.landed != nil {
		close(g.landed)
		g.landed = nil
	}
}

// announce wakes whoever waits for something to be held. It needs the lock.
func (g *gate) announce() {
	close(g.arrived)
	g.arrived = make(chan struct{})
}

// release lets the oldest held write go, by a step or not. It needs the lock.
func (g *gate) release(refused error, step bool) *hold {
	h := g.held.Remove(g.held.Front()).(*hold)
	h.place, h.refused, h.step = nil, refused, step
	if refused == nil {
		g.flying++
	}
	close(h.released)
	return h
}

// open lets all go, or refuses it. It needs the lock.
func (g *gate) open(refused error) {
	g.paused = false
	for g.held.Len() > 0 {
		g.release(refused, false)
	}
	g.announce()
}

// pause holds all further writes, and returns when none is on its way.
func (g *gate) pause(ctx context.Context) error {
	g.mu.Lock()
	if g.ended != nil {
		defer g.mu.Unlock()
		return g.ended
	}
	g.paused = true
	if g.flying == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.landed == nil {
		g.landed = make(chan struct{})
	}
	landed := g.landed
	g.mu.Unlock()
	select {
	case <-landed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("it is paused, but writes that were on their way are not answered yet: %w", ctx.Err())
	}
}

func (g *gate) resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended == nil {
		g.open(nil)
	}
}

// end refuses what is held and every write from now on. No hand is on the gate
// any more.
func (g *gate) end(why error) {
	g.restore()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended == nil {
		g.ended = why
		g.open(why)
	}
}

// step lets the oldest held write through and returns when it has been
// answered. Without one it waits for it as long as wait; then it is nil.
func (g *gate) step(ctx, wait context.Context) (*control.Stepped, error) {
	select {
	case g.stepping <- struct{}{}:
	case <-wait.Done():
		return nil, ctx.Err()
	}
	under := g.stepping
	defer func() {
		if under != nil {
			<-under
		}
	}()
	for {
		g.mu.Lock()
		if !g.paused {
			g.mu.Unlock()
			return nil, usage.Errorf("%w", errNotPaused)
		}
		if g.held.Len() == 0 {
			arrived := g.arrived
			g.mu.Unlock()
			select {
			case <-arrived:
				continue
			case <-wait.Done():
				return nil, ctx.Err()
			}
		}
		h := g.release(nil, true)
		g.mu.Unlock()
		select {
		case <-h.answered:
		case <-ctx.Done():
			under = nil
			go func() { <-h.answered; <-g.stepping }()
			return nil, ctx.Err()
		}
		if !h.given { // else its caller gave up just then: the next one
			return h.stepped(), nil
		}
	}
}

// list describes the oldest limit held writes, and tells how many there are.
func (g *gate) list(limit int) ([]*hold, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []*hold
	for e := g.held.Front(); e != nil && len(all) < limit; e = e.Next() {
		all = append(all, e.Value.(*hold))
	}
	return all, g.held.Len()
}
