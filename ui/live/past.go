package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/replay"
)

// The past is shown by the same functions as the present: a moment of a recording is a
// source, from which the view pulls. The recording is a file, or what the view has kept.

const (
	shortMove = time.Second
	longMove  = 10 * time.Second
)

func canLookBack(m model) bool { return m.past == nil && m.kept != nil && m.hasSnapshot }

// shownSource returns what the view shows: the source, or a moment of the past.
func (m model) shownSource() observe.Source {
	if m.past != nil {
		return m.past.Recording.At(m.past.Position)
	}
	return m.source
}

// keepSnapshot keeps a snapshot of the present, to go back to.
func (m model) keepSnapshot(s observe.Snapshot) {
	if m.kept != nil {
		// A snapshot that JSON cannot express is not kept: nothing else depends on it.
		_ = m.kept.Add(s)
	}
}

// maxKeysAhead is how many keys wait for the past.
const maxKeysAhead = 32

// pastResult is the message with what the view has kept.
type pastResult struct {
	reading   int
	recording *replay.Recording
	err       error
}

// lookBack goes from the present to the past.
func (m model) lookBack() (model, tea.Cmd) {
	if !canLookBack(m) {
		m.message = "nothing was kept yet to go back to"
		return m, nil
	}
	m.readings++
	m.reading, m.keysAhead, m.message = m.readings, nil, m.readingText()
	reading, outer, source, kept := m.reading, m.ctx, m.source, m.kept
	return m, func() tea.Msg {
		ctx, cancel := context.WithTimeout(outer, pullTimeout)
		defer cancel()
		page, err := source.Records(ctx, observe.Query{Reads: true, Causes: true})
		if err != nil {
			return pastResult{reading: reading, err: err}
		}
		recording, err := kept.Recording(page.Records)
		return pastResult{reading, recording, err}
	}
}

func (m model) readingText() string {
	return "reading the records" + m.theme.ellipsis() + " esc cancels"
}

// keyWhileReading keeps a key for the past, or cancels the reading.
func (m model) keyWhileReading(msg tea.KeyPressMsg) model {
	if msg.String() == "esc" {
		m.reading = 0
		return m
	}
	m.message = m.readingText()
	if len(m.keysAhead) < maxKeysAhead {
		m.keysAhead = append(slices.Clip(m.keysAhead), msg)
	}
	return m
}

// applyPast shows the moment before the present, and then what the keys pressed meanwhile
// lead to.
func (m model) applyPast(r pastResult) (model, tea.Cmd) {
	if m.reading == 0 || m.reading != r.reading {
		return m, nil
	}
	keys := m.keysAhead
	m.reading, m.keysAhead, m.message = 0, nil, ""
	if r.err != nil {
		m.message = words.OneLine(r.err.Error())
		return m, nil
	}
	m = m.showPast(r.recording)
	var cmds []tea.Cmd
	for _, key := range keys {
		next, cmd := m.handleKey(key)
		m, cmds = next, append(cmds, cmd)
	}
	return m, tea.Batch(cmds...)
}

// showPast shows the moment before the present.
func (m model) showPast(recording *replay.Recording) model {
	m.past = &replay.Playback{Recording: recording, Position: recording.Seek(m.snapshot.Time.Add(-shortMove))}
	m.frozen, m.pullError = false, ""
	m.confirming, m.askingQuit, m.held = nil, false, nil
	m.generation++
	m.pulling, m.pullStarted = false, time.Time{} // a pull that has begun is of the generation before
	return m.restartStreams().pullMoment()
}

// backToNow leaves the past.
func (m model) backToNow() (model, tea.Cmd) {
	if m.source == nil {
		return m.showMoment(m.past.Recording.End()), nil
	}
	m.past = nil
	m.generation++
	m = m.restartStreams()
	m.pulling, m.pullStarted, m.retryAt = true, m.now, time.Time{}
	return m, m.pullCmd(m.neededPull())
}

// pullMoment pulls from the past, which is in memory.
func (m model) pullMoment() model {
	pulling, streams := m.pulling, m.streams
	m = m.pullShown(pullRequest{snapshot: true, queries: m.shownQueries()})
	if m.streams != streams { // the moment is of another process, and the pages were dropped
		m = m.pullShown(pullRequest{queries: m.shownQueries()})
	}
	m.pulling = pulling // of the present
	return m
}

// pullShown pulls from what is shown, and waits for it.
func (m model) pullShown(w pullRequest) model {
	result := pullFrom(m.ctx, m.shownSource(), w)
	result.generation = m.generation
	return m.applyPull(result)
}

// fillPast pulls the records of screens that are shown since before: while the past is
// paused, no tick does.
func (m model) fillPast(before model) model {
	ids := func(m model) (first, current int) {
		return m.screens[0].feed.stream.id, m.currentScreen().feed.stream.id
	}
	first, current := ids(m)
	if wasFirst, was := ids(before); m.past == nil || first == wasFirst && current == was {
		return m
	}
	pulling := m.pulling // of the present
	m = m.pullShown(pullRequest{queries: m.shownQueries()})
	m.pulling = pulling
	return m
}

// showMoment shows another moment of the past, paused.
func (m model) showMoment(to replay.Position) model { return m.showPlayback(m.past.To(to)) }

// showPlayback shows what is played now.
func (m model) showPlayback(p replay.Playback) model {
	back := p.Position.Before(m.past.Position)
	m.past = &p
	if back { // later records have not happened
		m = m.restartStreams()
	}
	m = m.pullMoment()
	if back {
		m = m.arrangeRows(true)
	}
	return m
}

// playOn shows the moment that playing has reached.
func (m model) playOn() model {
	if !m.past.Playing {
		return m
	}
	return m.showPlayback(m.past.On(m.now))
}

// performInPast applies the action of a key that means something else in the past, or
// nothing.
func (m model) performInPast(a action) (model, tea.Cmd, bool) {
	switch a {
	case timeBack:
		m = m.moveInTime(-shortMove)
	case timeForward:
		m = m.moveInTime(shortMove)
	case timeBackLong:
		m = m.moveInTime(-longMove)
	case timeForwardLong:
		m = m.moveInTime(longMove)
	case timeStart:
		m = m.showMoment(m.past.Recording.Begin())
	case timeNow:
		next, cmd := m.backToNow()
		return next, cmd, true
	case timePlay:
		m = m.togglePlay()
	case timeSlower, timeFaster:
		m = m.changePlaySpeed(a)
	case nextRecord, previousRecord:
		m = m.stepRecord(a)
	case timeGo:
		m.typing, m.input = timeInput, ""
	case pauseResume, stopStart, stepOnce, slower, faster:
		m.message = m.pastReason("a controller cannot be changed")
	case openPage:
		m.message = m.pastReason("a page cannot be served")
	case toggleOutput:
		m.message = m.pastReason("the output of an operator is not kept")
	case toggleYAML:
		m.message = m.pastReason("the YAML of objects is not recorded")
	default:
		return m, nil, false
	}
	return m, nil, true
}

// pastReason says why something is impossible, and what to do.
func (m model) pastReason(what string) string {
	if m.source == nil {
		return what + ": this is a recording"
	}
	return what + ": this is the past, End goes back to now"
}

// moveInTime moves by a duration, and pauses.
func (m model) moveInTime(by time.Duration) model {
	p := m.past
	switch at := p.Position.At.Add(by); {
	case by > 0 && p.AtEnd():
		m.message = "this is the end of the recording"
		if m.source != nil {
			m.message = "nothing later was read: End goes to now"
		}
	case by < 0 && !p.Position.At.After(p.Recording.Begin().At):
		m.message = "nothing earlier was kept"
	default:
		return m.showMoment(p.Recording.Seek(at))
	}
	return m
}

func (m model) togglePlay() model {
	p := m.past.On(m.now)
	if !m.past.Playing && p.AtEnd() {
		m.message = "this is the end of the recording: Home goes to its beginning"
		return m
	}
	p.Playing = !m.past.Playing
	m.past = &p
	return m
}

func (m model) changePlaySpeed(a action) model {
	steps := 1
	if a == timeSlower {
		steps = -1
	}
	p, ok := m.past.Faster(steps, m.now)
	if !ok {
		m.message = "the speed is " + p.Speed() + " already"
		return m
	}
	return m.showPlayback(p)
}

// stepRecord goes to the next or the previous record that the lower pane shows.
func (m model) stepRecord(a action) model {
	s := m.currentScreen()
	query, keep := s.feed.query, m.recordFilter(s.kind)
	shown := func(r *observe.Record) bool {
		selected, ok := query.Select(r)
		return ok && keep(selected.Event) && (s.feed.filter == "" || containsWords(describeRecord(selected).filterText(), s.feed.filter))
	}
	find, none := m.past.Recording.Next, "no later record"
	if a == previousRecord {
		find, none = m.past.Recording.Previous, "no earlier record"
	}
	to, ok := find(m.past.Position, shown)
	if !ok {
		m.message = none
		return m
	}
	return m.showMoment(to)
}

// enterTime goes to the typed time.
func (m model) enterTime(text string) model {
	to, err := m.past.Recording.Find(text, m.zone)
	if err != nil {
		m.message = words.OneLine(err.Error())
		return m
	}
	return m.showMoment(to)
}

// pastLine says in the header that this is the past, and when.
func (m model) pastLine() line {
	p := m.past
	mark := m.theme.pickGlyph("‖", "paused")
	if p.Playing {
		mark = m.theme.pickGlyph("▶", "playing") + " " + p.Speed() + m.theme.pickGlyph("×", "x")
	}
	stamp := p.Position.At.In(m.zone).Format("15:04:05.0")
	if m.source == nil {
		began := p.Recording.Begin().At
		return line{
			{"REPLAY " + mark, highlight}, {" " + stamp, caution},
			{fmt.Sprintf(" %s of %s  ", formatClock(p.Position.At.Sub(began)), formatClock(p.Recording.Took())), faint},
		}
	}
	return line{
		{"PAST " + mark, highlight}, {" " + stamp, caution}, {" " + formatClock(m.now.Sub(p.Position.At)) + " ago  ", faint},
	}
}

// formatClock formats a duration as minutes and seconds, with hours if there are any.
func formatClock(d time.Duration) string {
	s := max(int(d/time.Second), 0)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
