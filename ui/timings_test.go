package ui

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

var bornAt = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// bootStep is the record of a stage, in milliseconds after the process began.
func bootStep(name string, begin, took int) observe.Record {
	return observe.Record{Time: bornAt.Add(ms(begin + took)), Event: &observe.BootStep{Step: name, Took: ms(took)}}
}

func startRecords() []observe.Record {
	return []observe.Record{ // in the order of their ends
		bootStep("data folder", 45, 2),
		bootStep("etcd", 48, 20),
		{Time: bornAt, Event: &observe.ControllerChanged{Controller: "job-controller"}},
		bootStep("API server", 50, 550),
		bootStep("controllers", 600, 200),
	}
}

func TestNewTimings(t *testing.T) {
	stages := func(shift int) []Timing {
		return []Timing{
			{"data folder", ms(45 - shift), ms(2)}, {"etcd", ms(48 - shift), ms(20)},
			{"API server", ms(50 - shift), ms(550)}, {"controllers", ms(600 - shift), ms(200)},
		}
	}
	process := []Timing{{ProcessStep, 0, ms(40)}}
	tests := []struct {
		name string
		born time.Time
		want Timings
	}{
		{"known", bornAt, Timings{ms(810), time.Second, append(process, stages(0)...)}},
		{"not known", time.Time{}, Timings{ms(770), time.Second, stages(40)}},
		{"after main, by another clock", bornAt.Add(ms(41)), Timings{ms(770), time.Second, stages(40)}},
	}
	for _, tt := range tests {
		got := NewTimings(Moments{tt.born, bornAt.Add(ms(40)), bornAt.Add(ms(810))}, time.Second, startRecords())
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestRenderTimings(t *testing.T) {
	whole := NewTimings(Moments{bornAt, bornAt.Add(ms(40)), bornAt.Add(ms(810))}, ms(950), startRecords())
	tests := []struct {
		name string
		mode Mode
		t    Timings
	}{
		{"plain", Mode{}, whole},
		{"color", Mode{Color: true}, whole},
		{"narrow-ascii", Mode{ASCII: true, Width: columns(60)}, whole},
		{"no-room", Mode{Width: columns(20)}, whole},
		{"nothing", Mode{}, Timings{}},
		{"beyond", Mode{}, Timings{Took: ms(10), Stages: []Timing{{"early\x1b[2J", ms(-5), ms(1)}, {"late", ms(20), ms(5)}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { golden(t, "timings/"+tt.name, RenderTimings(tt.mode, tt.t)) })
	}
}

func TestTimingsAsRecords(t *testing.T) {
	whole := Timings{Took: ms(810), Stages: []Timing{{ProcessStep, 0, ms(40)}, {"etcd", ms(48), ms(20)}}}
	want := []observe.Event{&observe.BootStep{Step: "process", Took: ms(40)}, &observe.BootStep{Step: "start", Took: ms(810)}}
	if diff := cmp.Diff(want, whole.Records()); diff != "" {
		t.Error(diff)
	}
}
