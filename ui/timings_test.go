package ui

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

var processStart = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func millis(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// bootStep returns the record of a stage that begins the given number of
// milliseconds after the process started.
func bootStep(name string, begin, took int) observe.Record {
	return observe.Record{Time: processStart.Add(millis(begin + took)), Event: &observe.BootStep{Step: name, Took: millis(took)}}
}

func startRecords() []observe.Record {
	return []observe.Record{ // in the order in which they end
		bootStep("data folder", 45, 2),
		bootStep("etcd", 48, 20),
		{Time: processStart, Event: &observe.ControllerChanged{Controller: "job-controller"}},
		bootStep("API server", 50, 550),
		bootStep("controllers", 600, 200),
	}
}

func TestNewTimings(t *testing.T) {
	stages := func(shift int) []stageTiming {
		return []stageTiming{
			{"data folder", millis(45 - shift), millis(2)}, {"etcd", millis(48 - shift), millis(20)},
			{"API server", millis(50 - shift), millis(550)}, {"controllers", millis(600 - shift), millis(200)},
		}
	}
	process := []stageTiming{{processStep, 0, millis(40)}}
	tests := []struct {
		name string
		born time.Time
		want Timings
	}{
		{"known", processStart, Timings{millis(810), time.Second, append(process, stages(0)...)}},
		{"unknown", time.Time{}, Timings{millis(770), time.Second, stages(40)}},
		{"after main by clock skew", processStart.Add(millis(41)), Timings{millis(770), time.Second, stages(40)}},
	}
	for _, tt := range tests {
		got := NewTimings(StartTimes{tt.born, processStart.Add(millis(40)), processStart.Add(millis(810))}, time.Second, startRecords())
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestRenderTimings(t *testing.T) {
	whole := NewTimings(StartTimes{processStart, processStart.Add(millis(40)), processStart.Add(millis(810))}, millis(950), startRecords())
	tests := []struct {
		name string
		mode Mode
		t    Timings
	}{
		{"plain", Mode{}, whole},
		{"color", Mode{Color: true}, whole},
		{"narrow-ascii", Mode{ASCII: true, Width: fixedWidth(60)}, whole},
		{"no-room", Mode{Width: fixedWidth(20)}, whole},
		{"nothing", Mode{}, Timings{}},
		{"beyond", Mode{}, Timings{Took: millis(10), Stages: []stageTiming{{"early\x1b[2J", millis(-5), millis(1)}, {"late", millis(20), millis(5)}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			testutil.Golden(t, "testdata/timings/"+tt.name+".golden", []byte(RenderTimings(tt.mode, tt.t)))
		})
	}
}

func TestBootSteps(t *testing.T) {
	m := StartTimes{processStart, processStart.Add(millis(40)), processStart.Add(millis(810))}
	want := []observe.Event{&observe.BootStep{Step: "process", Took: millis(40)}, &observe.BootStep{Step: "start", Took: millis(810)}}
	if diff := cmp.Diff(want, m.BootSteps()); diff != "" {
		t.Error(diff)
	}
	m.Process = time.Time{}
	want = []observe.Event{&observe.BootStep{Step: "process"}, &observe.BootStep{Step: "start", Took: millis(770)}}
	if diff := cmp.Diff(want, m.BootSteps()); diff != "" {
		t.Error(diff)
	}
}
