package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

const (
	pullInterval     = time.Second / pullsPerSecond
	retryDelay       = time.Second
	pullTimeout      = 10 * time.Second
	silenceThreshold = 3 * time.Second // the view reports a pull that takes longer
	inspectInterval  = 5 * time.Second // for an object without new records
)

// tickMsg arrives pullsPerSecond times per second.
type tickMsg time.Time

func nextTick() tea.Cmd {
	return tea.Tick(pullInterval, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// pullRequest selects the data to pull.
type pullRequest struct {
	snapshot bool
	keep     bool   // a snapshot of the present is only kept
	held     string // controller whose held writes to get; empty if none
	queries  []streamQuery
}

type streamQuery struct {
	stream int
	query  observe.Query
}

// pullResult is the result of a pull. Data received before an error is valid.
type pullResult struct {
	snapshot *observe.Snapshot
	held     *heldWrites
	pages    []streamPage
	warnings []string
	err      error

	kept       *observe.Snapshot // of the present, while the past is shown
	generation int
}

type streamPage struct {
	stream int
	page   observe.Page
}

// neededPull returns what to pull: the data of the current screen, and the records
// of the first screen, which must not have gaps. A frozen view pulls only data
// that it has never loaded.
func (m model) neededPull() pullRequest {
	if m.past != nil {
		return pullRequest{keep: m.source != nil}
	}
	w := pullRequest{snapshot: !m.frozen || !m.hasSnapshot}
	if w.snapshot {
		w.held = m.pausedSelection()
	}
	w.queries = m.shownQueries()
	return w
}

// shownQueries returns the queries of the screens whose records are needed.
func (m model) shownQueries() (list []streamQuery) {
	shown := []screen{m.screens[0]}
	if len(m.screens) > 1 {
		shown = append(shown, m.currentScreen())
	}
	for _, s := range shown {
		if st := s.feed.stream; !m.frozen || !st.loaded {
			list = append(list, streamQuery{st.id, st.query})
		}
	}
	return list
}

func (w pullRequest) isEmpty() bool { return !w.snapshot && !w.keep && len(w.queries) == 0 }

// pullCmd returns a command that pulls from the source.
func (m model) pullCmd(w pullRequest) tea.Cmd {
	outer, source, interventions, warn, generation := m.ctx, m.source, m.interventionsIn(w.held), m.warn, m.generation
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(outer, pullTimeout)
		defer cancel()
		p := pullFrom(ctx, source, w)
		p.generation = generation
		if warn != nil {
			p.warnings = warn()
		}
		if w.held != "" && p.snapshot != nil {
			p.held = fetchHeld(ctx, interventions, w.held)
		}
		return p
	}
}

// pullFrom pulls from a source.
func pullFrom(ctx context.Context, source observe.Source, w pullRequest) (p pullResult) {
	if w.snapshot || w.keep {
		s, err := source.Snapshot(ctx)
		if err != nil {
			p.err = err
			return p
		}
		if w.keep {
			p.kept = &s
			return p
		}
		p.snapshot = &s
	}
	for _, q := range w.queries {
		page, err := pullRecords(ctx, source, q.query)
		if err != nil {
			p.err = err
			return p
		}
		p.pages = append(p.pages, streamPage{q.stream, page})
	}
	return p
}

// pullRecords returns a page of records, which is empty if the control plane was restarted and has none after that of the query yet, or
// does not know the controller or client yet.
func pullRecords(ctx context.Context, source observe.Source, q observe.Query) (observe.Page, error) {
	page, err := source.Records(ctx, q)
	if apierrors.IsGone(err) || q.Controller != "" && errors.As(err, new(usage.Error)) {
		return observe.Page{Next: q.After}, nil
	}
	return page, err
}

// handleTick starts the next pull, unless one is in progress.
func (m model) handleTick(now time.Time) (model, tea.Cmd) {
	m.now = now
	m = m.readOutput()
	if m.past != nil {
		m = m.playOn()
	}
	cmds := []tea.Cmd{nextTick()}
	if w := m.neededPull(); !m.pulling && !w.isEmpty() && !now.Before(m.retryAt) {
		m.pulling, m.pullStarted = true, now
		cmds = append(cmds, m.pullCmd(w))
	}
	if !ui.IsRepeating(m.snapshot) {
		m.loops.found = nil
	} else if m.needsLoops() {
		m.loops.looking = true
		cmds = append(cmds, m.loopCmd())
	}
	if m.needsInspection() {
		m.inspecting = true
		cmds = append(cmds, m.inspectCmd(m.currentScreen().object))
	}
	if m.needsBrowsing() {
		m.browsing = true
		cmds = append(cmds, m.browseCmd(m.currentScreen().browsed))
	}
	if m.pullStarted.IsZero() {
		m.pullStarted = now
	}
	return m, tea.Batch(cmds...)
}

// applyPull applies the result of a pull.
func (m model) applyPull(p pullResult) model {
	if p.kept != nil {
		m.keepSnapshot(*p.kept)
	}
	if p.generation != m.generation {
		return m
	}
	m.pulling, m.pullError = false, ""
	if p.kept != nil {
		return m
	}
	if p.err != nil {
		m = m.applyPullError(p.err)
		if m.past != nil {
			return m
		}
	}
	if p.warnings != nil {
		m.warnings = p.warnings
	}
	if p.snapshot != nil {
		if m.hasRestarted(*p.snapshot) {
			m = m.restartStreams() // the records are numbered from 1 again
			if m.kept != nil && m.past == nil {
				m.kept.Clear()
			}
			p.pages = nil
		}
		m = m.applySnapshot(*p.snapshot, p.held)
	}
	return m.applyPages(p.pages)
}

// applyPullError delays the next pull. In the past it shows no error: the present is shown again later, and then its errors.
func (m model) applyPullError(err error) model {
	m.retryAt = m.now.Add(retryDelay)
	switch {
	case m.past != nil:
	case errors.Is(err, context.DeadlineExceeded):
		m.pullError = fmt.Sprintf("no response within %s", pullTimeout)
	default:
		m.pullError = words.OneLine(err.Error())
	}
	return m
}

// hasRestarted reports whether a snapshot is of another process than the last one.
func (m model) hasRestarted(s observe.Snapshot) bool {
	was := m.snapshot.Process.Started
	return !was.IsZero() && !s.Process.Started.Equal(was)
}

func (m model) applySnapshot(s observe.Snapshot, held *heldWrites) model {
	m.snapshot, m.hasSnapshot, m.held = s, true, held
	if m.past == nil {
		m.keepSnapshot(s)
		m = m.dropSteps()
	}
	if m.settingSpeed != "" {
		m.snapshot.Process.Speed = m.settingSpeed
	}
	return m.arrangeRows(false)
}

// applyPages adds records to the streams that have asked for them.
func (m model) applyPages(pages []streamPage) model {
	if len(pages) == 0 {
		return m
	}
	m.screens = slices.Clone(m.screens)
	for _, a := range pages {
		for i := range m.screens {
			if s := &m.screens[i]; s.feed.stream.id == a.stream {
				before := s.feed.stream.last
				m.noteReports(a.page.Records)
				s.feed.stream = s.feed.stream.addPage(a.page, m.recordFilter(s.kind))
				s.stale = s.stale || s.feed.stream.last != before
			}
		}
	}
	return m
}

// inspectResult is the result of inspecting an object.
type inspectResult struct {
	object     observe.Object
	inspection observe.Inspection
	err        error
}

// needsInspection reports whether to inspect the current object now.
func (m model) needsInspection() bool {
	s := m.currentScreen()
	if s.kind != objectScreen || m.inspector == nil || m.inspecting || m.past != nil {
		return false
	}
	if s.inspection == nil && s.inspectError == "" {
		return true
	}
	since := m.now.Sub(s.inspectedAt)
	return !m.frozen && (since >= inspectInterval || s.stale && since >= retryDelay)
}

func (m model) inspectCmd(o observe.Object) tea.Cmd {
	outer, inspector := m.ctx, m.inspector
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(outer, pullTimeout)
		defer cancel()
		found, err := inspector.Inspect(ctx, o)
		return inspectResult{object: o, inspection: found, err: err}
	}
}

// applyInspection applies an inspection to the screens of its object. An error
// without an inspection keeps the previous one.
func (m model) applyInspection(i inspectResult) model {
	m.inspecting = false
	m.screens = slices.Clone(m.screens)
	for n := range m.screens {
		s := &m.screens[n]
		if s.kind != objectScreen || s.object != i.object {
			continue
		}
		s.inspectedAt, s.stale, s.inspectError = m.now, false, ""
		if i.err != nil {
			s.inspectError = words.OneLine(i.err.Error())
			if i.inspection.Object.Name == "" {
				s.inspectError = "cannot get the object: " + s.inspectError
				continue
			}
		}
		s.inspection, s.manifest = &i.inspection, yamlLines(i.inspection.YAML)
	}
	return m
}
