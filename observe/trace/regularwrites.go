package trace

import (
	"fmt"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

const (
	minRegular      = 4           // writes in a row
	minRegularPause = time.Second // shorter ones are of a program that tries again and again
	// A program that waits before it works again has the time of the work as well, and may add some jitter.
	regularTolerance = 0.2
)

// regularWrites are a write of a client and the same ones before it, all at about the same distance: most likely, a timer makes
// the program work.
type regularWrites struct {
	times int
	every time.Duration // on average
	first time.Time
}

// regularWritesUpTo returns what is regular in the same writes up to n; nil if nothing is. A write that failed, or that changed
// nothing, counts, too.
func (g *graph) regularWritesUpTo(n *Node) *regularWrites {
	work, ok := n.subject()
	if !ok || n.Kind != Call {
		return nil
	}
	var times []time.Time
	for _, c := range g.calls {
		if s, ok := c.subject(); ok && s == work && !c.Time.After(n.Time) {
			times = append(times, c.Time)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	r := regularWrites{times: 1, first: n.Time}
	for i := len(times) - 1; i > 0; i-- {
		pause, last := times[i].Sub(times[i-1]), times[len(times)-1].Sub(times[len(times)-2])
		if pause < minRegularPause || (pause-last).Abs() > time.Duration(regularTolerance*float64(last)) {
			break
		}
		r.times, r.first = r.times+1, times[i-1]
	}
	if r.times < minRegular {
		return nil
	}
	r.every = n.Time.Sub(r.first) / time.Duration(r.times-1)
	return &r
}

// describe says how often the client has made the write.
func (r *regularWrites) describe(p *painter, n *Node) string {
	return fmt.Sprintf("%s has made this write %d times in a row since %s, every %s", words.OneLine(p.actor(n)), r.times, p.formatClock(r.first), p.formatDuration(r.every))
}
