package replay

import (
	"context"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Player is a source that plays a recording from a position, as fast as it was, and stays
// at its end.
type Player struct {
	recording *Recording
	from      Position
	began     time.Time
}

// Play returns a Player that begins now.
func (r *Recording) Play(from Position) *Player { return &Player{r, from, time.Now()} }

var _ observe.Source = (*Player)(nil)

func (p *Player) moment() *Moment {
	return p.recording.At(p.recording.Seek(p.from.At.Add(time.Since(p.began))))
}

// Snapshot implements observe.Source.
func (p *Player) Snapshot(ctx context.Context) (observe.Snapshot, error) {
	return p.moment().Snapshot(ctx)
}

// Records implements observe.Source.
func (p *Player) Records(ctx context.Context, q observe.Query) (observe.Page, error) {
	return p.moment().Records(ctx, q)
}
