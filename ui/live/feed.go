package live

import (
	"fmt"
	"sort"
	"time"
)

// feed is the lower pane: what happened, the newest last.
type feed struct {
	stream
	follow      bool   // the newest is shown
	cursor, top uint64 // IDs of entries, where it does not follow
	filter      string
}

// visible are the entries that the filter lets through.
func (f feed) visible() []entry {
	if f.filter == "" {
		return f.entries
	}
	var out []entry
	for _, e := range f.entries {
		if e.record.Event != nil && contains(describe(e.record).text(), f.filter) {
			out = append(out, e)
		}
	}
	return out
}

// list is where the cursor is among the visible entries.
func (f feed) list(visible []entry, h int) list {
	if f.follow {
		return list{cursor: len(visible) - 1, top: len(visible)}.within(len(visible), h)
	}
	at := func(id uint64) int {
		return sort.Search(len(visible), func(i int) bool { return visible[i].id >= id })
	}
	return list{at(f.cursor), at(f.top)}.within(len(visible), h)
}

// at keeps where the cursor is.
func (f feed) at(l list, visible []entry) feed {
	if len(visible) > 0 {
		f.cursor, f.top = visible[l.cursor].id, visible[l.top].id
	}
	return f
}

// move answers a key that moves the cursor. Beyond the end, the feed follows.
func (f feed) move(a action, h int) feed {
	visible := f.visible()
	l := f.list(visible, h)
	beyond := l.cursor == len(visible)-1 && step(a, len(visible), h) > 0
	f.follow = beyond || a == toEnd
	return f.at(l.move(a, len(visible), h), visible)
}

// toggleFollow stops where the feed is, or goes on to its end.
func (f feed) toggleFollow(h int) feed {
	visible := f.visible()
	f = f.at(f.list(visible, h), visible)
	f.follow = !f.follow
	return f
}

// scroll moves the window. At the end, the feed follows.
func (f feed) scroll(by, h int) feed {
	visible := f.visible()
	l := f.list(visible, h).scroll(by, len(visible), h)
	f.follow = by > 0 && l.top+h >= len(visible)
	return f.at(l, visible)
}

// current is the entry under the cursor.
func (f feed) current(h int) (entry, bool) {
	visible := f.visible()
	if len(visible) == 0 {
		return entry{}, false
	}
	return visible[f.list(visible, h).cursor], true
}

// feedLines draws the lower pane in w columns and h rows.
func (m model) feedLines(w, h int) []string {
	s := m.top()
	visible := s.feed.visible()
	l := s.feed.list(visible, h-1)
	focused := s.focus == feedPane
	lines := []string{m.title("Activity", m.feedState(visible, l, h-1), focused, w)}
	if len(visible) == 0 {
		return append(lines, m.theme.render(text("  "+m.nothing(s), faint), w, false))
	}
	for i := l.top; i < len(visible) && i < l.top+h-1; i++ {
		selected := focused && i == l.cursor
		line := m.entryLine(visible[i], w-1)
		lines = append(lines, m.theme.render(append(m.cursorMark(selected), line...), w, selected))
	}
	return lines
}

// nothing says why the feed is empty.
func (m model) nothing(s screen) string {
	switch {
	case s.feed.filter != "" && len(s.feed.entries) > 0:
		return "nothing matches the filter"
	case !s.feed.loaded:
		return "asking for what happened" + m.theme.tail()
	}
	return "nothing has happened yet"
}

// feedState is what the title says of the feed.
func (m model) feedState(visible []entry, l list, h int) string {
	f := m.top().feed
	state := "following"
	if !f.follow {
		state = "not following"
		if below := len(visible) - l.top - h; below > 0 {
			state = count(below) + " below"
		}
	}
	if m.all {
		state = "all, " + state
	}
	if f.filter != "" {
		state = fmt.Sprintf("/%s, %s", f.filter, state)
	}
	return state
}

// entryLine draws a record.
func (m model) entryLine(e entry, w int) line {
	if e.record.Event == nil {
		number := "some"
		if e.missed > 0 {
			number = count(e.missed)
		}
		return text(m.theme.either("…", "...")+" "+number+" not shown", faint)
	}
	return m.itemLine(describe(e.record), w)
}

// itemLine draws: time, mark, controller, verb, what, status, took and the rest.
func (m model) itemLine(i item, w int) line {
	tail := m.theme.tail()
	stamp := "15:04:05.000"
	if w < 72 {
		stamp = "15:04:05"
	}
	who := min(max(w/5, 14), 30)
	l := line{
		{i.at.In(m.zone).Format(stamp) + " ", faint},
		{left(i.mark, 1, tail) + " ", i.style()},
	}
	if m.top().kind != controllerScreen { // where all is one controller's
		l = append(l, span{left(i.who, who, tail) + "  ", plain})
	}
	l = append(l, span{left(i.verb, 6, tail) + "  ", i.verbStyle})
	room := w - l.width()
	ending := right(i.status, 5, tail) + " " + right(m.lasted(i.took), 6, tail)
	if i.status == "" && i.took == 0 { // a sentence
		return append(l, span{i.what, i.style()}).and(i.note)
	}
	if room < 34 && i.mark == "" {
		return append(l, span{i.what, i.style()})
	}
	const noteWidth = 40
	whatWidth := min(room-width(ending)-1, 60)
	after := room - whatWidth - width(ending)
	if i.note != "" && after < noteWidth && i.mark != "" { // the error matters more than the columns
		return append(l, span{i.what, i.style()}, span{"  " + i.status, faint}).and(i.note)
	}
	l = append(l, span{left(i.what, whatWidth, tail), i.style()}, span{ending, faint})
	if after < noteWidth/2 {
		return l
	}
	return l.and(i.note)
}

func (l line) and(note string) line {
	if note == "" {
		return l
	}
	return append(l, span{"  " + note, faint})
}

// lasted is empty for what is not known to have taken time.
func (m model) lasted(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return duration(d, m.theme.ascii)
}
