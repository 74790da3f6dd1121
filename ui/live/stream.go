package live

import (
	"slices"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// Limits of the records kept, and requested at once, for the first screen and for
// pages.
const (
	feedLimit = 5000
	pageLimit = 1000
)

// feedEntry is a record, or a gap of missed records.
type feedEntry struct {
	id     uint64 // ascending
	record observe.Record
	missed uint64 // size of the gap, if record has no event
	older  bool   // the gap is before all that is shown: the rings drop old records all the time
}

// stream holds the latest records that a query selects.
type stream struct {
	id      int
	query   observe.Query
	loaded  bool // there has been a response
	entries []feedEntry
	last    uint64 // last entry ID
}

// newStream returns an empty stream for a screen.
func (m model) newStream(s screen) (stream, model) {
	m.streams++
	st := stream{id: m.streams, query: observe.Query{
		Kinds: []observe.Kind{observe.KindBootStep, observe.KindControllerChanged,
			observe.KindCalled, observe.KindSynced, observe.KindLogged},
		Notable: !s.kind.isPage() && !m.showAll,
		Reads:   m.showAll, Limit: feedLimit, Controller: s.controller,
	}}
	if s.kind != queuesScreen {
		st.query.Limit = pageLimit
	}
	if s.kind == objectScreen {
		st.query.Object = &s.object
	}
	if s.kind.isPage() || m.showAll {
		st.query.Kinds = append(st.query.Kinds, observe.KindDelivered)
	}
	return st, m
}

// restartStreams replaces the streams of all screens, because their queries have
// changed.
func (m model) restartStreams() model {
	m.screens = slices.Clone(m.screens)
	for i := range m.screens {
		s := &m.screens[i]
		s.feed.stream, m = m.newStream(*s)
		s.feed.following = true
	}
	return m
}

// addPage appends a page of records. Beyond the limit it drops the oldest entries.
func (s stream) addPage(p observe.Page, keep func(observe.Event) bool) stream {
	limit := s.query.Limit
	fresh := make([]feedEntry, 0, min(len(p.Records), limit)+1)
	missed, shown := p.Missed+p.LeftOut, 0
	for _, r := range p.Records {
		if keep(r.Event) {
			shown++
		}
	}
	skip := max(0, shown-limit)
	missed += uint64(skip)
	if missed > 0 {
		s.last++
		fresh = append(fresh, feedEntry{id: s.last, missed: missed, older: !s.loaded})
	}
	// The event that a client has received is recorded after its first write for it.
	inOrder := slices.Clone(p.Records)
	slices.SortStableFunc(inOrder, func(a, b observe.Record) int { return a.Time.Compare(b.Time) })
	for _, r := range inOrder {
		if !keep(r.Event) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		s.last++
		fresh = append(fresh, feedEntry{id: s.last, record: r})
	}
	s.loaded, s.query.After = true, p.Next
	if len(fresh) == 0 {
		return s
	}
	old := s.entries[max(0, min(len(s.entries), len(s.entries)+len(fresh)-limit)):]
	s.entries = slices.Concat(old, fresh)
	return s
}

// noteReports notes whether the storage reports what calls have written.
func (m *model) noteReports(list []observe.Record) {
	m.reported = m.reported || observe.ReportWrites(list)
}

// recordFilter returns a function that selects the records a screen shows.
func (m model) recordFilter(k screenKind) func(observe.Event) bool {
	page, all, reported := k.isPage(), m.showAll, m.reported
	return func(e observe.Event) bool {
		if _, ok := e.(*observe.QueueChanged); ok || e == nil {
			return false
		}
		if all {
			return true
		}
		if c, ok := e.(*observe.Called); ok && c.RemovedNothing(reported) {
			return false
		}
		worth := ui.WorthOf(e)
		return worth == ui.Line || page && worth == ui.Detail
	}
}
