package live

import (
	"fmt"
	"sort"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// feed is the lower pane: the records, newest last.
type feed struct {
	stream
	following   bool   // keep the newest entry visible
	cursor, top uint64 // entry IDs, used when not following
	filter      string
}

// visibleEntries returns the entries that match the filter.
func (f feed) visibleEntries() []feedEntry {
	if f.filter == "" {
		return f.entries
	}
	var out []feedEntry
	for _, e := range f.entries {
		if e.record.Event != nil && containsWords(describeRecord(e.record).filterText(), f.filter) {
			out = append(out, e)
		}
	}
	return out
}

// viewportOf returns the position of the cursor in the visible entries.
func (f feed) viewportOf(visible []feedEntry, h int) viewport {
	if f.following {
		return viewport{cursor: len(visible) - 1, top: len(visible)}.clampToList(len(visible), h)
	}
	at := func(id uint64) int {
		return sort.Search(len(visible), func(i int) bool { return visible[i].id >= id })
	}
	return viewport{at(f.cursor), at(f.top)}.clampToList(len(visible), h)
}

// withViewport stores the position of the cursor by entry ID.
func (f feed) withViewport(l viewport, visible []feedEntry) feed {
	if len(visible) > 0 {
		f.cursor, f.top = visible[l.cursor].id, visible[l.top].id
	}
	return f
}

// moveCursor moves the cursor. Moving past the end starts following.
func (f feed) moveCursor(a action, h int) feed {
	visible := f.visibleEntries()
	l := f.viewportOf(visible, h)
	beyond := l.cursor == len(visible)-1 && stepSize(a, len(visible), h) > 0
	f.following = beyond || a == toEnd
	return f.withViewport(l.moveCursor(a, len(visible), h), visible)
}

// toggleFollow stops at the current position, or jumps to the end and follows.
func (f feed) toggleFollow(h int) feed {
	visible := f.visibleEntries()
	f = f.withViewport(f.viewportOf(visible, h), visible)
	f.following = !f.following
	return f
}

// scrollBy scrolls the viewport. Scrolling to the end starts following.
func (f feed) scrollBy(by, h int) feed {
	visible := f.visibleEntries()
	l := f.viewportOf(visible, h).scrollBy(by, len(visible), h)
	f.following = by > 0 && l.top+h >= len(visible)
	return f.withViewport(l, visible)
}

// currentEntry returns the entry under the cursor.
func (f feed) currentEntry(h int) (feedEntry, bool) {
	visible := f.visibleEntries()
	if len(visible) == 0 {
		return feedEntry{}, false
	}
	return visible[f.viewportOf(visible, h).cursor], true
}

// selectedEntry returns the line of Activity under the cursor, if it is shown: the output of an
// operator has no cursor.
func (m model) selectedEntry() (feedEntry, bool) {
	if m.showsOutput() {
		return feedEntry{}, false
	}
	e, ok := m.currentScreen().feed.currentEntry(m.screenAreas().feed.h - 1)
	return e, ok && e.record.Event != nil
}

// feedLines draws the lower pane in w columns and h rows.
func (m model) feedLines(w, h int) []string {
	if m.showsOutput() {
		return m.outputLines(w, h)
	}
	s := m.currentScreen()
	visible := s.feed.visibleEntries()
	l := s.feed.viewportOf(visible, h-1)
	focused := s.focus == feedPane
	stateStyle := faint
	if !s.feed.following {
		stateStyle = caution
	}
	lines := []string{m.styledTitleLine("Activity", m.feedState(visible, l, h-1), stateStyle, focused, w)}
	if len(visible) == 0 {
		return append(lines, m.theme.renderLine(styledLine("  "+m.emptyFeedText(s), faint), w, false))
	}
	for i := l.top; i < len(visible) && i < l.top+h-1; i++ {
		selected := focused && i == l.cursor
		line := m.entryLine(visible[i], w-1)
		lines = append(lines, m.theme.renderLine(append(m.cursorMark(selected), line...), w, selected))
	}
	return lines
}

// emptyFeedText says why the feed is empty.
func (m model) emptyFeedText(s screen) string {
	switch {
	case s.feed.filter != "" && len(s.feed.entries) > 0:
		return "nothing matches the filter"
	case !s.feed.loaded:
		return "loading" + m.theme.ellipsis()
	}
	if c, is := m.findClient(s.controller); is && c.Requests > 0 {
		return m.emptyClientFeedText(c)
	}
	return "no activity yet"
}

// emptyClientFeedText says why nothing of what a client has done is shown.
func (m model) emptyClientFeedText(c observe.Client) string {
	switch {
	case !m.showAll && c.Changes == 0:
		return "no writes yet: a shows " + ui.CountNoun(c.Reads, "read")
	case !m.showAll:
		return "the records of its writes were dropped: a shows reads"
	}
	return "the records of its requests were dropped"
}

// feedState returns the status text in the title of the feed.
func (m model) feedState(visible []feedEntry, l viewport, h int) string {
	f := m.currentScreen().feed
	state := "following"
	if !f.following {
		state = "HELD: f follows again"
		if below := len(visible) - l.top - h; below > 0 {
			state = "HELD, " + ui.GroupDigits(below) + " newer below: f follows again"
		}
	}
	if m.showAll {
		state = "all, " + state
	}
	if f.filter != "" {
		state = fmt.Sprintf("/%s, %s", f.filter, state)
	}
	return state
}

// verbWidth is the width of verbs. A longer one, such as restore, moves the rest of its line.
const verbWidth, maxVerbWidth = 6, 9

// entryLine draws a record.
func (m model) entryLine(e feedEntry, w int) line {
	if e.record.Event == nil {
		missed := ui.CountNoun(e.missed, "record")
		if e.older {
			missed = "older records are"
		}
		return styledLine(m.theme.pickGlyph("…", "...")+" "+missed+" not shown", faint)
	}
	return m.itemLine(describeRecord(e.record), w)
}

// shortNote returns the note without the object, if that is in the subject.
func (i feedItem) shortNote() string {
	if i.key != "" {
		return ui.ShortErrorOf(i.note, i.key)
	}
	return ui.ShortError(i.note)
}

// itemLine draws time, mark, controller, verb, subject, status, duration and note.
func (m model) itemLine(i feedItem, w int) line {
	i.note = i.shortNote()
	tail := m.theme.ellipsis()
	stamp := "15:04:05.000"
	if w < 72 {
		stamp = "15:04:05"
	}
	who := controllerWidth(w, ui.ShortName(i.controller))
	l := line{
		{i.at.In(m.zone).Format(stamp) + " ", faint},
		{alignLeft(i.mark, 1, tail) + " ", i.textStyle()},
	}
	if m.currentScreen().kind != controllerScreen { // there, all lines have the same controller
		l = append(l, span{alignLeft(ui.ShortName(i.controller), who, tail) + "  ", plain})
	}
	l = append(l, span{alignLeft(i.verb, min(max(textWidth(i.verb), verbWidth), maxVerbWidth), tail) + "  ", i.verbStyle})
	room := w - l.width()
	ending := alignRight(i.status, 5, tail)
	if w >= 90 { // in less, what matters is cut for it
		ending += " " + alignRight(m.formatTook(i.took), 6, tail)
	}
	if i.status == "" && i.took == 0 { // no columns to align
		return append(l, span{i.subject, i.textStyle()}).withNote(i.note)
	}
	if room < 34 && i.mark == "" {
		return append(l, span{i.subject, i.textStyle()})
	}
	const noteWidth = 40
	whatWidth := min(room-textWidth(ending)-1, 60)
	after := room - whatWidth - textWidth(ending)
	if i.note != "" && after < noteWidth && i.mark != "" { // show the error rather than align the columns
		return append(l, span{i.subject, i.textStyle()}, span{"  " + i.status, faint}).withNote(i.note)
	}
	l = append(l, span{alignLeft(i.subject, whatWidth, tail), i.textStyle()}, span{ending, faint})
	if after < noteWidth/2 {
		return l
	}
	return l.withNote(i.note)
}

// controllerWidth returns how wide the name of a controller is in lines of w columns. From 78
// on none is cut: a long one moves the rest of its line, which volume-provisioner does not from 98 on.
func controllerWidth(w int, name string) int {
	least := 13
	switch {
	case w < 78:
		return least
	case w >= 98:
		least = len("volume-provisioner")
	}
	return max(min(max(w/5-2, least), 23), min(textWidth(name), 24))
}

func (l line) withNote(note string) line {
	if note == "" {
		return l
	}
	return append(l, span{"  " + note, faint})
}

// formatTook formats a duration; 0, which means unknown, is empty.
func (m model) formatTook(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return formatDuration(d, m.theme.ascii)
}
