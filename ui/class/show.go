package class

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
)

const (
	barSteps    = 12          // columns of the bar
	redrawEvery = time.Second // for the times
	drawPause   = 100 * time.Millisecond
	defaultRows = 24

	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[2J" // the alternate screen, without a cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
)

// Show shows the roster until ctx ends: on a terminal as a table, otherwise a line for each
// change. rows is the height of the terminal.
func Show(ctx context.Context, out io.Writer, mode ui.Mode, rows func() int, r *Roster) (err error) {
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	seen := map[string]Message{}
	if mode.Live {
		if _, err := io.WriteString(out, enterScreen); err != nil {
			return err
		}
		defer func() { _, err = io.WriteString(out, leaveScreen+r.table(mode, 1<<16, time.Now())+"\n") }()
	}
	for {
		var text string
		if mode.Live {
			text = "\x1b[H" + strings.ReplaceAll(r.table(mode, rows(), time.Now()), "\n", "\x1b[K\n") + "\x1b[J"
		} else {
			text = r.changes(seen)
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
		if !r.awaitChange(ctx, tick.C) {
			return nil
		}
	}
}

// awaitChange waits for the next time to draw; false if ctx has ended. A student who sends
// without a pause does not make it draw without one.
func (r *Roster) awaitChange(ctx context.Context, tick <-chan time.Time) bool {
	pause := time.NewTimer(drawPause)
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-pause.C:
	}
	select {
	case <-ctx.Done():
		return false
	case <-tick:
	case <-r.changed:
	}
	return true
}

// changes returns a line for each student whose message is not the seen one.
func (r *Roster) changes(seen map[string]Message) string {
	list, _ := r.list()
	var b strings.Builder
	for _, m := range list {
		if seen[m.Student] != m {
			seen[m.Student] = m
			fmt.Fprintf(&b, "%s: lesson %s, step %d of %d, %s\n", m.Student, m.Lesson, m.Step, m.Of, m.State)
		}
	}
	return b.String()
}

// table renders the roster for a terminal.
func (r *Roster) table(mode ui.Mode, rows int, now time.Time) string {
	list, refused := r.list()
	if rows <= 0 {
		rows = defaultRows
	}
	room := max(rows-4, 1)
	if len(list) > room {
		sortByNeed(list)
	}
	nameWidth, lessonWidth := len("STUDENT"), len("LESSON")
	done := 0
	for _, m := range list {
		nameWidth, lessonWidth = max(nameWidth, ansi.StringWidth(m.Student)), max(lessonWidth, ansi.StringWidth(m.Lesson))
		if m.State == Done {
			done++
		}
	}
	var b strings.Builder
	line := func(text string) {
		if mode.Width != nil && mode.Width() > 0 {
			text = ansi.Truncate(text, mode.Width(), "")
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	line(fmt.Sprintf("%s, %d done, Ctrl-C ends", words.Count(len(list), "student"), done))
	line("")
	line(pad("STUDENT", nameWidth) + "  " + pad("LESSON", lessonWidth) + "  " + pad("STEP", barSteps+8) + "  SINCE")
	for i, m := range list {
		if i == room-1 && len(list) > room {
			line(fmt.Sprintf("and %d more, who began their step later or have ended", len(list)-i))
			break
		}
		line(pad(m.Student, nameWidth) + "  " + pad(m.Lesson, lessonWidth) + "  " + pad(bar(mode, m)+fmt.Sprintf(" %d/%d", m.Step, m.Of), barSteps+8) + "  " +
			since(now.Sub(m.Time)) + stateNote(m))
	}
	if refused > 0 {
		line(fmt.Sprintf("further students are not shown: %d is the limit", maxStudents))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// sortByNeed sorts those first who have worked longest on their step, and those last who are done: of a
// class that has more students than the terminal has rows, the teacher looks for who is stuck.
func sortByNeed(list []Message) {
	order := []State{Working, Left, Done}
	slices.SortStableFunc(list, func(a, b Message) int {
		return cmp.Or(slices.Index(order, a.State)-slices.Index(order, b.State), a.Time.Compare(b.Time))
	})
}

// bar shows how far a student is.
func bar(mode ui.Mode, m Message) string {
	steps := m.Step - 1
	if m.State == Done {
		steps = m.Of
	}
	full, empty := "█", "·"
	if mode.ASCII {
		full, empty = "#", "."
	}
	n := steps * barSteps / m.Of
	return strings.Repeat(full, n) + strings.Repeat(empty, barSteps-n)
}

func stateNote(m Message) string {
	if m.State == Working {
		return ""
	}
	return "  " + string(m.State)
}

// since says how long ago something was: whole minutes are enough to see who is stuck.
func since(d time.Duration) string {
	switch {
	case d < time.Minute:
		return pad(fmt.Sprintf("%d s", int(max(d, 0).Seconds())), 6)
	case d < 100*time.Minute:
		return pad(fmt.Sprintf("%d min", int(d.Minutes())), 6)
	}
	return pad(fmt.Sprintf("%d h", int(min(d, 999*time.Hour).Hours())), 6)
}

// pad fills a text with spaces up to a number of columns.
func pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(columns-ansi.StringWidth(text), 0))
}
