package live

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
)

// hotLoops are those of the present that were found last.
type hotLoops struct {
	found   []assert.HotLoop
	at      time.Time // of the last look
	looking bool
}

type loopResult struct {
	found      []assert.HotLoop
	generation int
}

// needsLoops reports whether to look for hot loops now.
func (m model) needsLoops() bool {
	return m.source != nil && m.past == nil && !m.frozen && m.hasSnapshot && !m.loops.looking && m.now.Sub(m.loops.at) >= ui.LoopInterval
}

// loopCmd returns a command that looks for hot loops. If the records cannot be read there is nothing to show: pulls say why.
func (m model) loopCmd() tea.Cmd {
	outer, source, at, generation := m.ctx, m.source, m.snapshot.Time, m.generation
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(outer, pullTimeout)
		defer cancel()
		found, err := assert.FindLoops(ctx, source, at)
		if err != nil {
			return loopResult{generation: generation}
		}
		return loopResult{found, generation}
	}
}

func (m model) applyLoops(r loopResult) model {
	m.loops.looking, m.loops.at = false, m.now
	if r.generation == m.generation {
		m.loops.found = r.found
	}
	return m
}

// loopsOf returns the hot loops of a controller or client, the hottest first.
func (m model) loopsOf(name string) (list []assert.HotLoop) {
	if m.past != nil {
		return nil
	}
	for _, l := range m.loops.found {
		if words.OneLine(l.Controller) == name {
			list = append(list, l)
		}
	}
	return list
}

// loopOf describes the hottest loop of a row; empty if it has none.
func (m model) loopOf(r row) string {
	for _, l := range m.loopsOf(r.controller) {
		if r.queue == nil || l.Queue == "" || l.Queue == r.queue.Name {
			return describeLoop(l)
		}
	}
	return ""
}

// addLoops adds the hot loops of a controller or client to its details.
func (m model) addLoops(s *detailBuilder, name string) {
	for i, l := range m.loopsOf(name) {
		rounds := ui.CountNoun(int64(l.Rounds), "round")
		if l.AtLeast {
			rounds = "at least " + rounds
		}
		text := fmt.Sprintf("%s, %s, one every %v", describeLoop(l), rounds, l.Interval.Round(time.Millisecond))
		s.addEntry("repeats", i, styledLine(text, caution))
	}
}

// describeLoop leaves out how often: the row has the rates.
func describeLoop(l assert.HotLoop) string { return "hot loop: " + ui.LoopedWork(l) }

// loopLine names the hottest loop in w columns; nil if there is none.
func (m model) loopLine(w int) line {
	if m.past != nil || len(m.loops.found) == 0 {
		return nil
	}
	l := m.loops.found[0]
	text := "hot loop of " + ui.ShortName(words.OneLine(l.Controller)) + ": " + ui.LoopedWork(l)
	more := ""
	if n := len(m.loops.found) - 1; n > 0 {
		more = fmt.Sprintf(" +%d", n)
	}
	return line{{truncate(text, w-1-textWidth(more), m.theme.ellipsis()), caution}, {more + " ", faint}}
}
