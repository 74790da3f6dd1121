package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const maxSlow = 50 // of the slowest syncs

// digest is what a page shows of the records. Its size is bounded, its counts
// are exact.
type digest struct {
	records uint64
	stages  []Stage
	marks   marks
	depths  *depths
	slow    []slowSync // the slowest first
	groups  *groups
}

// Stage is a span of time of the run as a whole.
type Stage struct {
	Name  string
	At    time.Time // when it began
	Took  time.Duration
	Error string
}

// slowSync is a sync and when it began.
type slowSync struct {
	*observe.Synced
	At time.Time
}

func newDigest() *digest {
	return &digest{marks: marks{max: maxMarks}, depths: newDepths(), groups: newGroups()}
}

func (d *digest) add(r observe.Record) {
	d.records++
	switch e := r.Event.(type) {
	case *observe.BootStep:
		d.stages = append(d.stages, Stage{e.Step, r.Time.Add(-e.Took), e.Took, e.Error})
	case *observe.ControllerChanged:
		d.changed(r, e)
	case *observe.QueueChanged:
		d.depths.changed(r.Time, e)
	case *observe.Called:
		d.called(r, e)
	case *observe.Synced:
		d.synced(r, e)
	case *observe.Logged:
		d.logged(r, e)
	}
}

func (d *digest) changed(r observe.Record, e *observe.ControllerChanged) {
	m := mark{kind: stateKind, controller: e.Controller, at: r.Time, what: e.State, note: e.Reason, seq: r.Seq}
	if e.State == "failed" {
		m.tone = failed
		d.groups.add("Failed controller", e.Controller, e.Controller, e.Reason, m)
	}
	d.marks.add(m)
}

// called takes writes, and reads that failed. Leases and events are left out
// unless they fail: nothing follows from them.
func (d *digest) called(r observe.Record, e *observe.Called) {
	if !e.Failed() && (!e.Write() || e.Chatter()) {
		return
	}
	m := mark{
		kind: writeKind, controller: e.Controller, at: r.Time.Add(-e.Took), took: e.Took,
		what: e.Verb + " " + resource(e), about: e.Object.Key(), note: e.Error, seq: r.Seq,
	}
	if !e.Write() {
		m.kind = readKind
	}
	switch {
	case e.Conflict:
		m.tone = conflict
		d.groups.add("Conflict", e.Controller, m.what, e.Error, m)
	case e.Failed():
		m.tone = failed
		if m.note == "" {
			m.note = "there was no answer"
		}
		d.groups.add("Failed call", e.Controller, m.what, m.note, m)
	}
	d.marks.add(m)
}

func (d *digest) synced(r observe.Record, e *observe.Synced) {
	d.depths.synced(r.Time, e)
	m := mark{
		kind: syncKind, controller: cmp.Or(e.Controller, e.Queue), at: r.Time.Add(-e.Took), took: e.Took,
		what: e.Queue, about: key(e), note: e.Error, seq: r.Seq,
	}
	if e.Failed() {
		m.tone = failed
		d.groups.add("Failed sync", m.controller, e.Queue, e.Error, m)
	}
	d.marks.add(m)
	d.slower(slowSync{e, m.at})
}

// slower keeps a sync if it is one of the slowest.
func (d *digest) slower(s slowSync) {
	if n := len(d.slow); n == maxSlow && d.slow[n-1].Took >= s.Took {
		return
	}
	i, _ := slices.BinarySearchFunc(d.slow, s, func(a, b slowSync) int { return cmp.Compare(b.Took, a.Took) })
	d.slow = slices.Insert(d.slow, i, s)
	d.slow = d.slow[:min(len(d.slow), maxSlow)]
}

// logged takes warnings, and errors unless the failed sync has them, too.
func (d *digest) logged(r observe.Record, e *observe.Logged) {
	if e.Level < 4 || e.Level >= 8 && e.Sync != 0 {
		return
	}
	m := mark{kind: logKind, controller: e.Controller, at: r.Time, what: "warning", about: e.Message, seq: r.Seq}
	if e.Level >= 8 {
		m.what, m.tone = "error", failed
	}
	for _, a := range e.Attrs {
		m.note += fmt.Sprintf("%s=%s ", a.Key, a.Value)
	}
	d.groups.add("Logged "+m.what, e.Controller, "log", e.Message, m)
	d.marks.add(m)
}

// key names what a sync was about: "~" is before what is likely, "?" is for
// what is not known.
func key(e *observe.Synced) string {
	switch {
	case e.Key == "":
		return "?"
	case e.KeyBasis.Inferred():
		return "~" + e.Key
	}
	return e.Key
}

// resource is RESOURCE[.GROUP][/SUBRESOURCE].
func resource(e *observe.Called) string {
	name := e.Object.Resource
	if e.Object.Group != "" {
		name += "." + e.Object.Group
	}
	if e.Subresource != "" {
		name += "/" + e.Subresource
	}
	return name
}
