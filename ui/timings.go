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
	WholeStep   = "start"
)

// Timings is where the time of a start went. Stages overlap.
type Timings struct {
	Took   time.Duration // from the begin of the process until ready
	CPU    time.Duration // by then, user and system; 0 = not known
	Stages []Timing      // in order of their begin
}

// Timing is one stage.
type Timing struct {
	Name  string
	Begin time.Duration // since the process began
	Took  time.Duration
}

// Moments are when what happened in a process that starts a control plane.
type Moments struct {
	Born  time.Time // zero = not known; then all counts from Main
	Main  time.Time
	Ready time.Time
}

// NewTimings takes the stages from the records of a start.
func NewTimings(m Moments, cpu time.Duration, records []observe.Record) Timings {
	if m.Born.IsZero() || m.Born.After(m.Main) { // clocks differ by a hundredth of a second
		m.Born = m.Main
	}
	t := Timings{Took: m.Ready.Sub(m.Born), CPU: cpu}
	if took := m.Main.Sub(m.Born); took > 0 {
		t.Stages = append(t.Stages, Timing{Name: ProcessStep, Took: took})
	}
	for _, r := range records {
		if s, ok := r.Event.(*observe.BootStep); ok {
			t.Stages = append(t.Stages, Timing{Name: s.Step, Begin: r.Time.Add(-s.Took).Sub(m.Born), Took: s.Took})
		}
	}
	slices.SortStableFunc(t.Stages, func(a, b Timing) int { return cmp.Compare(a.Begin, b.Begin) })
	return t
}

// Records are what is told of the start besides its stages, as events.
func (t Timings) Records() []observe.Event {
	var list []observe.Event
	for _, s := range t.Stages {
		if s.Name == ProcessStep {
			list = append(list, &observe.BootStep{Step: s.Name, Took: s.Took})
		}
	}
	return append(list, &observe.BootStep{Step: WholeStep, Took: t.Took})
}

const (
	barColumns    = 48 // of the whole start, where there is room
	timingColumns = nameColumn + len("  10.0 s    10.0 s  ")
)

// RenderTimings draws a line a stage, with a bar over the time of the start.
func RenderTimings(mode Mode, t Timings) string {
	var b strings.Builder
	head := fmt.Sprintf("Start: %s", duration(t.Took))
	if t.CPU > 0 {
		head += fmt.Sprintf(", %s of CPU", duration(t.CPU))
	}
	b.WriteString(head + "\n" + mode.faint(fmt.Sprintf("%s %8s  %8s", pad("stage", nameColumn), "begin", "took")) + "\n")
	columns := barColumns
	if width := mode.width(); width > 0 {
		columns = min(columns, max(0, width-timingColumns-1))
	}
	for _, s := range t.Stages {
		line := fmt.Sprintf("%s %8s  %8s  %s", pad(oneLine(s.Name), nameColumn), duration(s.Begin), duration(s.Took), mode.bar(s, t.Took, columns))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// bar is of as many columns as the stage is of the whole, one at least, that far in.
func (m Mode) bar(s Timing, whole time.Duration, columns int) string {
	if columns == 0 || whole <= 0 {
		return ""
	}
	column := func(d time.Duration) int { return int(int64(columns) * int64(d) / int64(whole)) }
	from := min(max(column(s.Begin), 0), columns-1)
	to := min(max(column(s.Begin+s.Took), from+1), columns)
	return strings.Repeat(" ", from) + m.busy(strings.Repeat(m.either("█", "#"), to-from))
}
