package ui

import (
	"fmt"
	"io"
	"time"

	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/observe"
)

const summaryInterval = 5 * time.Second // between two summaries while busy

// plainWriter writes one line of text per notable event.
type plainWriter struct {
	w            io.Writer
	lastSummary  time.Time // when the last summary was written
	settledShown bool      // the last line said "settled"
	failing      string    // what it said to fail
}

func (*plainWriter) writeHeader(time.Time) error { return nil }

func (*plainWriter) recordQuery() observe.Query {
	return observe.Query{Kinds: []observe.Kind{
		observe.KindControllerChanged, observe.KindCalled, observe.KindSynced, observe.KindLogged,
	}}
}

func (p *plainWriter) writeRecord(r observe.Record) error {
	if !IsNotable(r.Event) {
		return nil
	}
	p.settledShown = false
	r.Time = r.Time.Local()
	return p.writeLine(FormatRecord(r))
}

// IsNotable reports whether an event is worth a line. It leaves out reads,
// constant background writes, and logged errors that the failed sync repeats.
func IsNotable(e observe.Event) bool {
	switch e := e.(type) {
	case *observe.ControllerChanged:
		return true
	case *observe.Called:
		return e.IsWrite() && !e.IsRoutine()
	case *observe.Synced:
		return e.Failed()
	case *observe.Logged:
		return e.Level >= 4 && (e.Level < 8 || e.Sync == 0) || e.Controller == observe.Own // such as a restore
	}
	return false
}

func (p *plainWriter) writeSnapshot(s observe.Snapshot) error {
	failing := DescribeFailing(s)
	if s.Process.Settled {
		if p.settledShown && p.failing == failing {
			return nil
		}
	} else if s.Time.Sub(p.lastSummary) < summaryInterval {
		return nil // if that ends before a line says so, "settled" would repeat the last one
	}
	p.settledShown, p.failing, p.lastSummary = s.Process.Settled, failing, s.Time
	return p.writeLine(joinFields([]string{formatTime(s.Time.Local()), summarizeActivity(s)}))
}

func (p *plainWriter) writeNotice(n Notice) error {
	text := map[string]string{
		"missed":       fmt.Sprintf("missed %s: dropped before they could be read", CountNoun(n.Missed, "record")),
		"disconnected": "no response from the control plane, retrying: " + n.Error,
		"connected":    "connected again",
		"restarted":    "the control plane was restarted",
	}[n.Kind]
	return p.writeLine(joinFields([]string{formatTime(n.Time.Local()), text}))
}

func (p *plainWriter) writeLoop(now time.Time, l assert.HotLoop) error {
	return p.writeLine(joinFields([]string{formatTime(now.Local()), "hot loop: " + l.String()}))
}

func (p *plainWriter) writeLine(s string) error {
	_, err := io.WriteString(p.w, s+"\n")
	return err
}
