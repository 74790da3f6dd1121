package replay

import (
	"context"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Player is a source that plays a recording. It is safe for concurrent use.
type Player struct {
	mu       sync.Mutex
	playback Playback
}

// Play returns a Player that begins to play when it is first read, at normal speed.
func (r *Recording) Play(from Position) *Player {
	return &Player{playback: Playback{Recording: r, Position: from, Playing: true}}
}

// PausedAt returns a Player that shows a position.
func (r *Recording) PausedAt(position Position) *Player {
	return &Player{playback: Playback{Recording: r, Position: position}}
}

var _ observe.Source = (*Player)(nil)

// Playback returns what is shown now.
func (p *Player) Playback() Playback {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.playback = p.playback.On(time.Now())
	return p.playback
}

// Change replaces what is shown now by what change makes of it, unless it fails.
func (p *Player) Change(change func(now time.Time, shown Playback) (Playback, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	changed, err := change(now, p.playback.On(now))
	if err == nil {
		p.playback = changed
	}
	return err
}

func (p *Player) moment() *Moment {
	shown := p.Playback()
	return shown.Recording.At(shown.Position)
}

// Snapshot implements observe.Source.
func (p *Player) Snapshot(ctx context.Context) (observe.Snapshot, error) {
	return p.moment().Snapshot(ctx)
}

// Records implements observe.Source.
func (p *Player) Records(ctx context.Context, q observe.Query) (observe.Page, error) {
	return p.moment().Records(ctx, q)
}
