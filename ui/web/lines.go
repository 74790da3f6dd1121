package web

import (
	"context"
	"encoding/json"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// lineWriter writes the lines of "top --ui json" to a hub, which also gets each snapshot. Records have what the page would have to
// judge otherwise.
type lineWriter struct {
	*ui.JSONWriter
	hub  *hub
	list *list
}

// recordJudgement is what a line says about its record beside what "top --ui json" says.
type recordJudgement struct {
	Listed bool `json:"listed"` // the page lists it
	// Retry says of a failed sync why its retry is normal; empty if it is not.
	Retry string `json:"retry,omitempty"`
}

func (w lineWriter) judge(r observe.Record) recordJudgement {
	j := recordJudgement{Listed: w.list.has(&r)}
	if s, ok := r.Event.(*observe.Synced); ok && s.Retried {
		j.Retry = ui.RetryReason(s.Error)
	}
	return j
}

// WriteRecord writes a record with what is judged about it.
func (w lineWriter) WriteRecord(r observe.Record) error {
	record, err := json.Marshal(r)
	if err != nil {
		return err
	}
	judgement, err := json.Marshal(w.judge(r))
	if err != nil {
		return err
	}
	return w.WriteLine(json.RawMessage(append(append(record[:len(record)-1], ','), judgement[1:]...)))
}

// WriteSnapshot keeps the status of each snapshot, and the line of one that has changed.
func (w lineWriter) WriteSnapshot(ctx context.Context, s observe.Snapshot) error {
	w.hub.findLoops(ctx, s)
	w.hub.setStatus(s)
	changed := w.ChangedSnapshot(s)
	if changed == nil {
		return nil
	}
	line, err := ui.EncodeLine(changed)
	if err != nil {
		return err
	}
	w.hub.keepSnapshot(line)
	return w.WriteLine(changed)
}

// list decides which records the page lists.
type list struct {
	reported bool // the storage reports what calls have written
}

// has reports whether the page lists a record. Records are asked about in their order.
func (l *list) has(r *observe.Record) bool {
	l.reported = l.reported || reportsWrites(r)
	c, isCall := r.Event.(*observe.Called)
	return ui.WorthOf(r.Event) == ui.Line && !(isCall && c.RemovedNothing(l.reported))
}

func reportsWrites(r *observe.Record) bool {
	c, isCall := r.Event.(*observe.Called)
	return isCall && c.ReportsWrites()
}
