package ui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const summaryInterval = 5 * time.Second // between two summaries while busy

// PlainWriter writes one line of text per notable event, and per hot loop.
type PlainWriter struct {
	lines        lineBuffer
	loops        loopFinder
	lastSummary  time.Time // when the last summary was written
	settledShown bool      // the last line said "settled"
	failing      string    // what it said to fail
}

// NewPlainWriter returns a writer to w of what src has, in which it looks for hot loops.
func NewPlainWriter(w io.Writer, src observe.Source) *PlainWriter {
	return &PlainWriter{lines: lineBuffer{w: w}, loops: loopFinder{src: src, found: map[loopSubject]time.Time{}}}
}

// Flush writes the lines.
func (p *PlainWriter) Flush() error { return p.lines.flush() }

// WriteHeader does nothing.
func (*PlainWriter) WriteHeader(time.Time) error { return nil }

// RecordQuery selects the kinds that have lines, without the steps of a start: the verb that starts prints them.
func (*PlainWriter) RecordQuery() observe.Query {
	return observe.Query{Kinds: []observe.Kind{
		observe.KindControllerChanged, observe.KindCalled, observe.KindSynced, observe.KindLogged,
	}}
}

// WriteRecord writes a record that is worth a line.
func (p *PlainWriter) WriteRecord(r observe.Record) error {
	if WorthOf(r.Event) != Line {
		return nil
	}
	p.settledShown = false
	r.Time = r.Time.Local()
	p.writeLine(FormatRecord(r))
	return nil
}

// WriteSnapshot writes new hot loops and, from time to time, a summary.
func (p *PlainWriter) WriteSnapshot(ctx context.Context, s observe.Snapshot) error {
	for _, l := range p.loops.find(ctx, s) {
		p.writeLine(joinFields([]string{formatTime(s.Time.Local()), "hot loop: " + l.String()}))
	}
	failing := DescribeFailing(s)
	if s.Process.Settled {
		if p.settledShown && p.failing == failing {
			return nil
		}
	} else if s.Time.Sub(p.lastSummary) < summaryInterval {
		return nil // if that ends before a line says so, "settled" would repeat the last one
	}
	p.settledShown, p.failing, p.lastSummary = s.Process.Settled, failing, s.Time
	p.writeLine(joinFields([]string{formatTime(s.Time.Local()), summarizeActivity(s)}))
	return nil
}

// WriteNotice writes a line about the connection.
func (p *PlainWriter) WriteNotice(n Notice) error {
	if n.Kind == "restarted" {
		clear(p.loops.found)
	}
	text := map[string]string{
		"missed":       fmt.Sprintf("missed %s: dropped before they could be read", CountNoun(n.Missed, "record")),
		"disconnected": "no response from the control plane, retrying: " + n.Error,
		"connected":    "connected again",
		"restarted":    "the control plane was restarted",
	}[n.Kind]
	p.writeLine(joinFields([]string{formatTime(n.Time.Local()), text}))
	return nil
}

func (p *PlainWriter) writeLine(s string) { p.lines.add(append([]byte(s), '\n')) }

// lineBuffer collects the lines of one poll, so that its writer receives whole lines.
type lineBuffer struct {
	w     io.Writer
	lines bytes.Buffer
}

func (b *lineBuffer) add(line []byte) { b.lines.Write(line) }

func (b *lineBuffer) flush() error {
	if b.lines.Len() == 0 {
		return nil
	}
	_, err := b.lines.WriteTo(b.w)
	return err
}
