package replay

import (
	"context"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Player is a source that plays a recording from a position, as fast as it was, and stays
// at its end.
type Player struct {
	recording *Recording
	from      Position
	begin     func() time.Time
}

// Play returns a Player that begins when it is first read.
func (r *Recording) Play(from Position) *Player { return &Player{r, from, sync.OnceValue(time.Now)} }

var _ observe.Source = (*Player)(nil)

func (p *Player) moment() *Moment {
	return p.recording.At(p.recording.Seek(p.from.At.Add(time.Since(p.begin()))))
}

// Snapshot implements observe.Source.
func (p *Player) Snapshot(ctx context.Context) (observe.Snapshot, error) {
	return p.moment().Snapshot(ctx)
}

// Records implements observe.Source.
func (p *Player) Records(ctx context.Context, q observe.Query) (observe.Page, error) {
	return p.moment().Records(ctx, q)
}
