package report

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// maxMarks is the maximum number of marks on a page, which a browser can draw fast
// enough.
const maxMarks = 20000

// markKind is the kind of record that a mark represents.
type markKind int

const (
	syncKind markKind = iota
	writeKind
	readKind // only failed reads
	stateKind
	logKind    // only warnings and errors
	outputKind // a line that the command printed
)

// markTone is the result that a mark represents.
type markTone int

const (
	toneFine markTone = iota
	toneConflict
	toneFailed
	toneRetried // failed, and succeeded later
	toneLogged  // an error in the log: its outcome is not known
)

// mark is one action of a controller on the timeline.
type mark struct {
	kind       markKind
	controller string
	at         time.Time // start
	took       time.Duration
	tone       markTone
	what       string // the queue, the verb and resource, the state
	about      string // the key or the object
	note       string // the error, the message
	seq        uint64

	work    string // what can be retried
	sync    uint64 // the sync that made a failed call
	creates string // the resource that a failed call was to create; empty if it was to do something else
	group   *Group // that a failure belongs to
}

// markRow is a mark in the data of the page: kind, lane, start and duration in
// milliseconds, tone, what, about, note, seq.
type markRow [9]any

func (m *mark) pageRow(lane int, zero time.Time) markRow {
	return markRow{m.kind, lane, toMillis(m.at.Sub(zero)), toMillis(m.took), m.tone, m.what, m.about, m.note, m.seq}
}

// toMillis converts a duration to milliseconds, rounded to microseconds.
func toMillis(d time.Duration) float64 { return math.Round(float64(d)/1e3) / 1e3 }

// marks holds at most 2*max marks. When there are too many, it drops the least
// important.
type marks struct {
	list    []mark
	max     int
	dropped uint64
}

func (m *marks) add(one mark) {
	m.list = append(m.list, one)
	if len(m.list) >= 2*m.max {
		m.dropLeastImportant()
	}
}

// dropLeastImportant drops all but max marks: short successful syncs first, failures last.
func (m *marks) dropLeastImportant() {
	if len(m.list) <= m.max {
		return
	}
	slices.SortStableFunc(m.list, func(a, b mark) int {
		return cmp.Or(cmp.Compare(b.importance(), a.importance()), cmp.Compare(b.took, a.took))
	})
	m.dropped += uint64(len(m.list) - m.max)
	m.list = slices.Clone(m.list[:m.max])
	slices.SortFunc(m.list, func(a, b mark) int { return cmp.Compare(a.seq, b.seq) })
}

func (m *mark) importance() int {
	switch {
	case m.kind == stateKind:
		return 3
	case m.tone != toneFine:
		return 2
	case m.kind == writeKind:
		return 1
	}
	return 0
}

// laneNames returns the controllers of the marks, busiest first.
func (m *marks) laneNames() []string {
	counts := map[string]int{}
	for i := range m.list {
		counts[m.list[i].controller]++
	}
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return names
}
