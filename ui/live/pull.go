package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	pullEvery    = time.Second / pullsPerSecond
	retryAfter   = time.Second
	pullTimeout  = 10 * time.Second
	silentAfter  = 3 * time.Second // a pull that takes so long is worth a word
	inspectEvery = 5 * time.Second // an object to which nothing seems to happen
)

// tickMsg comes four times a second.
type tickMsg time.Time

func tick() tea.Cmd {
	return tea.Tick(pullEvery, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// want is what a pull is to bring.
type want struct {
	snapshot bool
	held     string // the controller whose held writes are wanted; empty = none
	queries  []ask
}

type ask struct {
	stream int
	query  observe.Query
}

// pulled is what a pull has brought. What came before an error is of use.
type pulled struct {
	snapshot *observe.Snapshot
	held     *held
	answers  []answer
	warnings []string
	err      error
}

type answer struct {
	stream int
	page   observe.Page
}

// wanted is what the screen that is shown needs now, besides the first screen's
// records, so that none are missed there. A frozen view asks only for what it
// has never had.
func (m model) wanted() want {
	w := want{snapshot: !m.frozen || !m.known}
	if w.snapshot {
		w.held = m.holds()
	}
	shown := []screen{m.screens[0]}
	if len(m.screens) > 1 {
		shown = append(shown, m.top())
	}
	for _, s := range shown {
		if st := s.feed.stream; !m.frozen || !st.loaded {
			w.queries = append(w.queries, ask{st.id, st.query})
		}
	}
	return w
}

func (w want) empty() bool { return !w.snapshot && len(w.queries) == 0 }

// pull asks the source.
func (m model) pull(w want) tea.Cmd {
	outer, source, gates, warn := m.ctx, m.source, m.gates, m.warn
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(outer, pullTimeout)
		defer cancel()
		var p pulled
		if warn != nil {
			p.warnings = warn()
		}
		if w.snapshot {
			s, err := source.Snapshot(ctx)
			if err != nil {
				p.err = err
				return p
			}
			p.snapshot = &s
		}
		if w.held != "" {
			p.held = askHeld(ctx, gates, w.held)
		}
		for _, q := range w.queries {
			page, err := source.Records(ctx, q.query)
			if err != nil {
				p.err = err
				return p
			}
			p.answers = append(p.answers, answer{q.stream, page})
		}
		return p
	}
}

// ticked begins the next pull, unless one is under way.
func (m model) ticked(now time.Time) (model, tea.Cmd) {
	m.now = now
	cmds := []tea.Cmd{tick()}
	if w := m.wanted(); !m.pulling && !w.empty() && !now.Before(m.retry) {
		m.pulling, m.asked = true, now
		cmds = append(cmds, m.pull(w))
	}
	if m.needsInspection() {
		m.inspecting = true
		cmds = append(cmds, m.inspect(m.top().object))
	}
	if m.asked.IsZero() {
		m.asked = now
	}
	return m, tea.Batch(cmds...)
}

// apply takes what a pull has brought.
func (m model) apply(p pulled) model {
	m.pulling, m.lost = false, ""
	if p.err != nil {
		m.lost = clean(p.err.Error())
		if errors.Is(p.err, context.DeadlineExceeded) {
			m.lost = fmt.Sprintf("no answer in %s", pullTimeout)
		}
		m.retry = m.now.Add(retryAfter)
	}
	if p.warnings != nil {
		m.warnings = p.warnings
	}
	if s := p.snapshot; s != nil {
		if was := m.snapshot.Process.Started; !was.IsZero() && !s.Process.Started.Equal(was) {
			m = m.restart() // it is another one, whose records begin anew
			p.answers = nil
		}
		m.snapshot, m.known, m.held = *s, true, p.held
		m = m.arrange(false)
	}
	if len(p.answers) == 0 {
		return m
	}
	m.screens = slices.Clone(m.screens)
	for _, a := range p.answers {
		for i := range m.screens {
			if s := &m.screens[i]; s.feed.stream.id == a.stream {
				before := s.feed.stream.last
				s.feed.stream = s.feed.stream.take(a.page, m.keeps(s.kind))
				s.stale = s.stale || s.feed.stream.last != before
			}
		}
	}
	return m
}

// inspected is an object, or why there is none.
type inspected struct {
	object     observe.Object
	inspection observe.Inspection
	err        error
}

// needsInspection says whether the object that is shown should be asked for.
func (m model) needsInspection() bool {
	s := m.top()
	if s.kind != objectScreen || m.inspector == nil || m.inspecting {
		return false
	}
	if s.found == nil && s.notFound == "" {
		return true
	}
	since := m.now.Sub(s.foundAt)
	return !m.frozen && (since >= inspectEvery || s.stale && since >= retryAfter)
}

func (m model) inspect(o observe.Object) tea.Cmd {
	outer, inspector := m.ctx, m.inspector
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(outer, pullTimeout)
		defer cancel()
		found, err := inspector.Inspect(ctx, o)
		return inspected{object: o, inspection: found, err: err}
	}
}

// saw applies an inspection to the screens of its object. An error that comes
// alone leaves what was seen before.
func (m model) saw(i inspected) model {
	m.inspecting = false
	m.screens = slices.Clone(m.screens)
	for n := range m.screens {
		s := &m.screens[n]
		if s.kind != objectScreen || s.object != i.object {
			continue
		}
		s.foundAt, s.stale, s.notFound = m.now, false, ""
		if i.err != nil {
			s.notFound = clean(i.err.Error())
			if i.inspection.Object.Name == "" {
				s.notFound = "cannot be shown: " + s.notFound
				continue
			}
		}
		s.found, s.manifest = &i.inspection, yamlLines(i.inspection.YAML)
	}
	return m
}
