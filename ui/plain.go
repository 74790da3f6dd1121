package ui

import (
	"fmt"
	"io"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const summaryTime = 5 * time.Second // between two summaries while busy

// plain writes what people care for.
type plain struct {
	w       io.Writer
	said    time.Time // the last summary
	settled bool      // said, and nothing since
}

func (*plain) begin(time.Time) error { return nil }

func (*plain) query() observe.Query {
	return observe.Query{Kinds: []observe.Kind{
		observe.KindControllerChanged, observe.KindCalled, observe.KindSynced, observe.KindLogged,
	}}
}

func (p *plain) record(r observe.Record) error {
	if !worthKnowing(r.Event) {
		return nil
	}
	p.settled = false
	r.Time = r.Time.Local()
	return p.line(Line(r))
}

// worthKnowing leaves out what only reads, what goes on in the background all
// the time, and errors in the log that the failed sync will have too.
func worthKnowing(e observe.Event) bool {
	switch e := e.(type) {
	case *observe.ControllerChanged:
		return true
	case *observe.Called:
		return e.Write() && !e.Chatter()
	case *observe.Synced:
		return e.Failed()
	case *observe.Logged:
		return e.Level >= 4 && (e.Level < 8 || e.Sync == 0)
	}
	return false
}

func (p *plain) snapshot(s observe.Snapshot) error {
	if s.Process.Settled {
		if p.settled {
			return nil
		}
	} else if s.Time.Sub(p.said) < summaryTime {
		p.settled = false
		return nil
	}
	p.settled, p.said = s.Process.Settled, s.Time
	return p.line(columnsOf([]string{clock(s.Time.Local()), summary(s)}))
}

func (p *plain) say(n notice) error {
	text := map[string]string{
		"missed":       fmt.Sprintf("missed %d records: they are no longer kept", n.Missed),
		"disconnected": "no answer, trying again: " + n.Error,
		"connected":    "answers again",
		"restarted":    "was restarted",
	}[n.Kind]
	return p.line(columnsOf([]string{clock(n.Time.Local()), text}))
}

func (p *plain) line(s string) error {
	_, err := io.WriteString(p.w, s+"\n")
	return err
}
