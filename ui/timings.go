package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// processStep and startStep are the names of the boot steps besides the stages:
// from the start of the process to main, and to ready.
const (
	processStep = "process"
	startStep   = "start"
)

// Timings says how long a start and its stages took. Stages may overlap.
type Timings struct {
	Took   time.Duration // from the start of the process until ready
	CPU    time.Duration // user and system time until ready; 0 = unknown
	Stages []stageTiming // in start order
}

// stageTiming is the timing of one stage.
type stageTiming struct {
	Name  string
	Begin time.Duration // since the process started
	Took  time.Duration
}

// StartTimes are the key moments of a process that starts a control plane.
type StartTimes struct {
	Process time.Time // when the process started; zero = unknown, then Main is used
	Main    time.Time
	Ready   time.Time
}

// BootSteps returns the processStep and startStep events, to be recorded when the
// control plane is ready. Both begin when the process started.
func (m StartTimes) BootSteps() []observe.Event {
	return []observe.Event{&observe.BootStep{Step: processStep, Took: m.Main.Sub(m.startedAt())}, &observe.BootStep{Step: startStep, Took: m.Ready.Sub(m.startedAt())}}
}

// startedAt returns when the process started, or entered main if that is unknown.
func (m StartTimes) startedAt() time.Time {
	if m.Process.IsZero() || m.Process.After(m.Main) { // the two clocks differ by up to 10 ms
		return m.Main
	}
	return m.Process
}

// NewTimings computes the timings from the records of a start.
func NewTimings(m StartTimes, cpu time.Duration, records []observe.Record) Timings {
	begin := m.startedAt()
	t := Timings{Took: m.Ready.Sub(begin), CPU: cpu}
	if took := m.Main.Sub(begin); took > 0 {
		t.Stages = append(t.Stages, stageTiming{Name: processStep, Took: took})
	}
	for _, r := range records {
		if s, ok := r.Event.(*observe.BootStep); ok {
			t.Stages = append(t.Stages, stageTiming{Name: s.Step, Begin: r.Time.Add(-s.Took).Sub(begin), Took: s.Took})
		}
	}
	slices.SortStableFunc(t.Stages, func(a, b stageTiming) int { return cmp.Compare(a.Begin, b.Begin) })
	return t
}

const (
	barColumns    = 48 // width of a bar for the whole start, if there is room
	timingColumns = nameColumn + len("  10.0 s    10.0 s  ")
)

// RenderTimings draws one line per stage, with a bar on the time axis of the start.
func RenderTimings(mode Mode, t Timings) string {
	var b strings.Builder
	head := fmt.Sprintf("Start: %s", words.Duration(t.Took))
	if t.CPU > 0 {
		head += fmt.Sprintf(", %s of CPU", words.Duration(t.CPU))
	}
	b.WriteString(head + "\n" + mode.paintFaint(fmt.Sprintf("%s %8s  %8s", padRight("stage", nameColumn), "start", "took")) + "\n")
	columns := barColumns
	if width := mode.Columns(); width > 0 {
		columns = min(columns, max(0, width-timingColumns-1))
	}
	for _, s := range t.Stages {
		line := fmt.Sprintf("%s %8s  %8s  %s", padRight(words.OneLine(s.Name), nameColumn), formatOffset(s.Begin), words.Duration(s.Took), mode.timingBar(s, t.Took, columns))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// formatOffset formats a time offset, for which "<1 ms" would be misleading.
func formatOffset(d time.Duration) string {
	if d < time.Millisecond {
		return "0 ms"
	}
	return words.Duration(d)
}

// timingBar draws the share of the stage in the whole start, at least one column,
// at its offset.
func (m Mode) timingBar(s stageTiming, whole time.Duration, columns int) string {
	if columns == 0 || whole <= 0 {
		return ""
	}
	column := func(d time.Duration) int { return int(int64(columns) * int64(d) / int64(whole)) }
	from := min(max(column(s.Begin), 0), columns-1)
	to := min(max(column(s.Begin+s.Took), from+1), columns)
	return strings.Repeat(" ", from) + m.paintBusy(strings.Repeat(m.Glyph("█", "#"), to-from))
}
