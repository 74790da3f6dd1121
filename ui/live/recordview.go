package live

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// recordField is one field of a record.
type recordField struct {
	label, value string
	style        style
}

// openRecord shows a record in full.
func (m model) openRecord(r observe.Record) model {
	item := describeRecord(r)
	fields := m.recordFields(r, item)
	var copied strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&copied, "%s: %s\n", f.label, f.value)
	}
	t := textView{
		title: strings.TrimSpace(item.verb + " " + item.subject), object: item.object, key: keyOf(r), nextWhy: whatOf(r), copied: copied.String(),
		lines: func(_ model, w int) []line { return fieldLines(fields, w) },
	}
	if item.controller != bootSource {
		t.owner = item.controller
	}
	return m.openText(t)
}

// fieldLines lays out fields, with values that are wrapped.
func fieldLines(fields []recordField, w int) []line {
	var lines []line
	for _, f := range fields {
		label := f.label
		for _, part := range wrapIndented(f.value, max(w-labelWidth-3, 10)) {
			lines = append(lines, line{{" " + alignLeft(label, labelWidth+1, ""), faint}, {part, f.style}})
			label = ""
		}
	}
	return lines
}

// fieldList collects the fields that have a value.
type fieldList []recordField

func (l *fieldList) add(label, value string, st ...style) {
	if value = words.OneLine(value); value != "" {
		*l = append(*l, recordField{label, value, append(st, plain)[0]})
	}
}

func (m model) recordFields(r observe.Record, item feedItem) []recordField {
	var l fieldList
	l.add("time", r.Time.In(m.zone).Format("2006-01-02 15:04:05.000000")+", record "+strconv.FormatUint(r.Seq, 10))
	l.add("by", item.controller, strong)
	switch e := r.Event.(type) {
	case *observe.Called:
		m.addCallFields(&l, e, item)
	case *observe.Synced:
		m.addSyncFields(&l, e, item)
	case *observe.Logged:
		l.add("level", item.verb, item.verbStyle)
		l.add("message", e.Message, item.textStyle())
		for _, a := range e.Attrs {
			l.add(a.Key, a.Value)
		}
	case *observe.Delivered:
		l.add("event", string(e.Change)+" "+e.Object.String())
		l.add("version", e.ResourceVersion)
		l.add("effect", item.note)
		l.add("also to", strings.Join(e.AlsoTo, ", "))
		l.add("handler", m.formatTook(e.Took))
	case *observe.ControllerChanged:
		l.add("state", e.State, item.textStyle())
		l.add("reason", e.Reason)
	case *observe.BootStep:
		l.add("step", e.Step+", "+m.formatTook(e.Took))
		l.add("error", e.Error, bad)
	}
	return l
}

func (m model) addCallFields(l *fieldList, e *observe.Called, item feedItem) {
	l.add("call", e.Verb+" "+formatCallTarget(e), item.verbStyle)
	status := item.status
	switch {
	case e.Conflict && observe.SaysRestored(e.Error):
		status += ", a conflict: the control plane was restored while the write waited"
	case e.Conflict && !e.IsInjected():
		status += ", a conflict: the object had been modified or deleted meanwhile"
	}
	status += " after " + m.formatTook(e.Took)
	if e.Held > 0 {
		status += ", held for " + m.formatTook(e.Held)
	}
	l.add("status", status, item.textStyle())
	l.add("error", e.Error, item.textStyle())
	if e.Event != nil {
		l.add("event", e.Event.Type+" "+e.Event.Reason)
		l.add("about", e.Event.Regarding.String())
		l.add("note", e.Event.Note)
	}
	l.add("version", e.ResourceVersion)
	for _, w := range e.Wrote {
		what := w.Resource + " " + strings.TrimPrefix(w.Namespace+"/"+w.Name, "/") + " version " + w.ResourceVersion
		if w.Deleted {
			what += ", deleted"
		}
		if f := w.Forced; f != nil {
			what += ", forced conflicts with " + strings.Join(f.Managers, ", ") + ": " + strings.Join(f.Fields, ", ")
		}
		l.add("wrote", what)
	}
	if e.Client != nil {
		l.add("user", e.Client.User)
		l.add("as", e.Client.Impersonates)
		l.add("user agent", e.Client.UserAgent)
	}
	l.add("manager", e.FieldManager)
	if e.Sync != 0 {
		l.add("sync", strconv.FormatUint(e.Sync, 10))
	}
}

func (m model) addSyncFields(l *fieldList, e *observe.Synced, item feedItem) {
	l.add("key", ui.FormatKey(e.Key, e.KeyBasis))
	l.add("queue", e.Queue)
	result := "ok"
	switch {
	case e.Failed() && e.Retried:
		result = "failed, will be retried"
	case e.Failed():
		result = "failed"
	case e.Retried:
		result = "ok, the key is queued again as planned"
	}
	if e.Retried && !e.Due.IsZero() {
		result += " at " + e.Due.In(m.zone).Format("15:04:05.000")
	}
	l.add("result", result, item.textStyle())
	l.add("error", e.Error, bad)
	l.add("waited", formatDuration(e.Waited, m.theme.ascii)+" in the queue")
	l.add("worked", formatDuration(max(e.Took, time.Nanosecond), m.theme.ascii))
	l.add("calls", ui.CountNoun(e.Reads, "read")+", "+ui.CountNoun(e.Writes, "write"))
	l.add("sync", strconv.FormatUint(e.ID, 10))
}
