package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// ProcessStep and WholeStep name what is told of a start besides its stages:
// from the begin of the process to main, and until ready.
const (
	ProcessStep = "process"
	StartStep   = "start"
)

// Timings is where the time of a start went. Stages overlap.
type Timings struct {
	Took   time.Duration // from the begin of the process until ready
	CPU    time.Duration // by then, user and system; 0 = not known
	Stages []StageTiming // in order of their begin
}

// StageTiming is one stage.
type StageTiming struct {
	Name  string
	Begin time.Duration // since the process began
	Took  time.Duration
}

// StartTimes are when what happened in a process that starts a control plane.
type StartTimes struct {
	Process time.Time // zero = not known; then all counts from Main
	Main    time.Time
	Ready   time.Time
}

// BootSteps are what is told of the start besides its stages, as events that are
// to be appended when it is ready: WholeStep ends then, and both begin together.
func (m StartTimes) BootSteps() []observe.Event {
	return []observe.Event{&observe.BootStep{Step: ProcessStep, Took: m.Main.Sub(m.startedAt())}, &observe.BootStep{Step: StartStep, Took: m.Ready.Sub(m.startedAt())}}
}

// startedAt is when all began, as far as is known.
func (m StartTimes) startedAt() time.Time {
	if m.Process.IsZero() || m.Process.After(m.Main) { // clocks differ by a hundredth of a second
		return m.Main
	}
	return m.Process
}

// NewTimings takes the stages from the records of a start.
func NewTimings(m StartTimes, cpu time.Duration, records []observe.Record) Timings {
	begin := m.startedAt()
	t := Timings{Took: m.Ready.Sub(begin), CPU: cpu}
	if took := m.Main.Sub(begin); took > 0 {
		t.Stages = append(t.Stages, StageTiming{Name: ProcessStep, Took: took})
	}
	for _, r := range records {
		if s, ok := r.Event.(*observe.BootStep); ok {
			t.Stages = append(t.Stages, StageTiming{Name: s.Step, Begin: r.Time.Add(-s.Took).Sub(begin), Took: s.Took})
		}
	}
	slices.SortStableFunc(t.Stages, func(a, b StageTiming) int { return cmp.Compare(a.Begin, b.Begin) })
	return t
}

const (
	barColumns    = 48 // of the whole start, where there is room
	timingColumns = nameColumn + len("  10.0 s    10.0 s  ")
)

// RenderTimings draws a line a stage, with a bar over the time of the start.
func RenderTimings(mode Mode, t Timings) string {
	var b strings.Builder
	head := fmt.Sprintf("Start: %s", formatDuration(t.Took))
	if t.CPU > 0 {
		head += fmt.Sprintf(", %s of CPU", formatDuration(t.CPU))
	}
	b.WriteString(head + "\n" + mode.paintFaint(fmt.Sprintf("%s %8s  %8s", padRight("stage", nameColumn), "begin", "took")) + "\n")
	columns := barColumns
	if width := mode.width(); width > 0 {
		columns = min(columns, max(0, width-timingColumns-1))
	}
	for _, s := range t.Stages {
		line := fmt.Sprintf("%s %8s  %8s  %s", padRight(sanitizeLine(s.Name), nameColumn), formatOffset(s.Begin), formatDuration(s.Took), mode.timingBar(s, t.Took, columns))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// formatOffset is a point in time, of which "<1 ms" would be an odd thing to say.
func formatOffset(d time.Duration) string {
	if d < time.Millisecond {
		return "0 ms"
	}
	return formatDuration(d)
}

// timingBar is of as many columns as the stage is of the whole, one at least, that far in.
func (m Mode) timingBar(s StageTiming, whole time.Duration, columns int) string {
	if columns == 0 || whole <= 0 {
		return ""
	}
	column := func(d time.Duration) int { return int(int64(columns) * int64(d) / int64(whole)) }
	from := min(max(column(s.Begin), 0), columns-1)
	to := min(max(column(s.Begin+s.Took), from+1), columns)
	return strings.Repeat(" ", from) + m.paintBusy(strings.Repeat(m.pickGlyph("█", "#"), to-from))
}
