package report

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

const maxSlow = 50 // slowest syncs to keep

// digest aggregates the records for the page. Its size is bounded, but for one entry for each controller and client, and for what
// tells whether failures were retried: some entries for each key and each write that has failed, and for each sync with a failed
// call. Counts are exact unless there are more than maxMarks failures.
type digest struct {
	records uint64
	stages  []Stage
	marks   marks
	depths  *depthTracker
	slow    []slowSync // slowest first
	groups  *errorGroups
	retries *retries
	actors  map[string]*actor // by name

	// How many failures there are, and, final after markRetried, how many of them were not retried successfully, and until
	// their objects were deleted.
	failures, lasting, untilDeleted failureCounts
}

// failureCounts counts failures.
type failureCounts struct{ syncs, calls int }

// count counts the failure of a mark.
func (c *failureCounts) count(m *mark) {
	switch {
	case m.tone != toneFailed:
	case m.kind == syncKind:
		c.syncs++
	case m.kind == writeKind || m.kind == readKind:
		c.calls++
	}
}

// Stage is a phase of the run.
type Stage struct {
	Name  string
	At    time.Time // start
	Took  time.Duration
	Error string
}

// slowSync is a sync with its start time.
type slowSync struct {
	*observe.Synced
	At time.Time
}

func newDigest() *digest {
	return &digest{marks: marks{max: maxMarks}, depths: newDepthTracker(), groups: newGroups(), retries: newRetries(), actors: map[string]*actor{}}
}

func (d *digest) add(r observe.Record) {
	d.records++
	switch e := r.Event.(type) {
	case *observe.BootStep:
		d.stages = append(d.stages, Stage{e.Step, r.Time.Add(-e.Took), e.Took, e.Error})
	case *observe.ControllerChanged:
		d.addStateChange(r, e)
	case *observe.Delivered:
		d.retries.addDelivered(&r, e)
	case *observe.QueueChanged:
		d.depths.addChange(r.Time, e)
	case *observe.Called:
		d.addCall(r, e)
	case *observe.Synced:
		d.addSync(r, e)
	case *observe.Logged:
		d.addLog(r, e)
	}
}

func (d *digest) addStateChange(r observe.Record, e *observe.ControllerChanged) {
	m := mark{kind: stateKind, controller: e.Controller, at: r.Time, what: e.State, note: e.Reason, seq: r.Seq}
	if e.State == observe.StateFailed {
		m.tone = toneFailed
		d.groups.add("Failed controller", e.Controller, e.Controller, e.Reason, m)
	}
	d.marks.add(m)
}

// addCall adds writes and failed reads. It ignores successful writes of leases and
// events, which have no consequences.
func (d *digest) addCall(r observe.Record, e *observe.Called) {
	d.retries.addCall(r.Seq, e)
	if !e.IsFailure() && (!e.IsWrite() || e.IsRoutine()) {
		d.countCall(e, toneFine)
		return
	}
	m := mark{
		kind: writeKind, controller: e.Controller, at: r.Time.Add(-e.Took), took: e.Took,
		what: e.Verb + " " + resourceName(e), about: e.Object.Key(), note: e.Error, seq: r.Seq,
		work: callWork(e), sync: e.Sync,
	}
	if !e.IsWrite() {
		m.kind = readKind
	}
	switch {
	case e.Conflict:
		m.tone = toneConflict
		m.group = d.groups.add("Conflict", e.Controller, m.what, e.Error, m)
	case e.Verb == "get" && e.Status == http.StatusNotFound, e.FoundGone(): // the caller expects that it may not exist
		m.note = "does not exist"
	case e.Failed():
		m.tone = toneFailed
		if m.note == "" {
			m.note = "no response"
		}
		m.group = d.groups.add("Failed call", e.Controller, m.what, m.note, m)
		if missesObject(e) {
			m.creates = resourceName(e)
		}
	}
	d.countCall(e, m.tone)
	d.failures.count(&m)
	d.marks.add(m)
}

func (d *digest) addSync(r observe.Record, e *observe.Synced) {
	d.depths.addSync(r.Time, e)
	d.retries.addSync(&r, e)
	m := mark{
		kind: syncKind, controller: cmp.Or(e.Controller, e.Queue), at: r.Time.Add(-e.Took), took: e.Took,
		what: e.Queue, about: ui.FormatKey(e.Key, e.KeyBasis), note: e.Error, seq: r.Seq, work: syncWork(e),
	}
	if e.Failed() {
		m.tone = toneFailed
		m.group = d.groups.add("Failed sync", m.controller, e.Queue, e.Error, m)
		d.actorOf(m.controller).FailedSyncs++
	}
	d.failures.count(&m)
	d.marks.add(m)
	d.keepSlowest(slowSync{e, m.at})
}

// keepSlowest keeps a sync if it is one of the slowest.
func (d *digest) keepSlowest(s slowSync) {
	if n := len(d.slow); n == maxSlow && d.slow[n-1].Took >= s.Took {
		return
	}
	i, _ := slices.BinarySearchFunc(d.slow, s, func(a, b slowSync) int { return cmp.Compare(b.Took, a.Took) })
	d.slow = slices.Insert(d.slow, i, s)
	d.slow = d.slow[:min(len(d.slow), maxSlow)]
}

// addLog adds warnings, and errors that no failed sync repeats.
func (d *digest) addLog(r observe.Record, e *observe.Logged) {
	if !ui.IsLoggedProblem(e) {
		return
	}
	m := mark{kind: logKind, controller: e.Controller, at: r.Time, what: "warning", about: e.Message, seq: r.Seq}
	if e.IsError() {
		m.what, m.tone = "error", toneLogged
	}
	for _, a := range e.Attrs {
		m.note += fmt.Sprintf("%s=%s ", a.Key, a.Value)
	}
	d.groups.add("Logged "+m.what, e.Controller, "log", e.Message, m)
	d.marks.add(m)
}

// resourceName returns RESOURCE[.GROUP][/SUBRESOURCE].
func resourceName(e *observe.Called) string {
	name := e.Object.GroupResource()
	if e.Subresource != "" {
		name += "/" + e.Subresource
	}
	return name
}
