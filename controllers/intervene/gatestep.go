package intervene

import (
	"context"
	"errors"
	"fmt"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// ErrNotPaused is the error of a step through a gate that is open.
var ErrNotPaused = errors.New("not paused: pause it first")

// StepOf is Step for control.Interventions. Its errors name whose gate it is, such as
// "client kubectl".
func (g *Gate) StepOf(ctx, wait context.Context, whose string) (*control.SteppedWrite, error) {
	step, err := g.step(ctx, wait)
	switch {
	case errors.Is(err, ErrNotPaused):
		return nil, usage.Errorf("%s is %w", whose, ErrNotPaused)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", whose, err)
	}
	return step, nil
}

// step releases the oldest held write, and returns when it has been answered. If
// none is held it waits for one until wait ends; then the result is nil.
func (g *Gate) step(ctx, wait context.Context) (*control.SteppedWrite, error) {
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
	default:
		select {
		case g.stepLock <- struct{}{}:
		case <-wait.Done():
			return nil, nil
		}
	}
	for {
		g.mu.Lock()
		if !g.current.Paused {
			g.mu.Unlock()
			<-g.stepLock
			return nil, ErrNotPaused
		}
		for h := range g.held() {
			defer g.mu.Unlock()
			h.release(nil, g)
			return h, nil
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

func (g *Gate) oldestWrites(limit int) (oldest []*heldWrite, total int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for h := range g.held() {
		if total++; total <= limit {
			oldest = append(oldest, h)
		}
	}
	return oldest, total
}
