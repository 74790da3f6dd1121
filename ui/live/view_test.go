package live

import (
	"errors"
	"image/color"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// testSources returns the sources of the golden screens.
func testSources() (still, busy, trouble observe.Source) {
	return &fixedSource{snapshot: idleSnapshot()},
		&fixedSource{snapshot: burstSnapshot(), records: podCreations(1, 40), missed: 1234},
		&inspectableSource{&fixedSource{snapshot: troubledSnapshot(), records: sampleRecords()}, webInspection()}
}

func webInspection() observe.Inspection {
	return observe.Inspection{
		YAML:       "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata:\n  name: web-7d4b9c\n  annotations:\n    note: \"a\x1b[2Jb\"\nspec:\n  replicas: 3\n",
		Owners:     []observe.Object{webDeployment},
		Dependents: []observe.Object{webPod},
	}
}

func TestScreens(t *testing.T) {
	still, busy, trouble := testSources()
	options := func(s observe.Source) Options { return Options{Source: s, Purpose: testPurpose} }
	tests := []struct {
		name string
		o    Options
		w, h int
		do   func(*testing.T, model) model
	}{
		{"before", options(still), 100, 20, func(t *testing.T, m model) model {
			return sendMsgs(t, newModel(t.Context(), options(still)).withColor(false), tea.WindowSizeMsg{Width: 100, Height: 20})
		}},
		{"starting", options(&fixedSource{snapshot: bootingSnapshot(), records: sampleRecords()[:2]}), 120, 20, nil},
		{"idle", options(still), 140, 40, nil},
		{"burst", options(busy), 120, 30, nil},
		{"failing", options(trouble), 120, 40, nil},
		{"stopped", options(trouble), 120, 40, func(t *testing.T, m model) model { return pressKeys(t, m, ">", ">", ">", "G") }},
		{"60x15", options(busy), 60, 15, nil},
		{"80x24", options(trouble), 80, 24, nil},
		{"250x80", options(busy), 250, 80, nil},
		{"dark", options(trouble), 100, 24, func(_ *testing.T, m model) model { return m.withColor(true) }},
		{"light", options(trouble), 100, 24, func(t *testing.T, m model) model {
			return sendMsgs(t, m.withColor(true), tea.BackgroundColorMsg{Color: color.White})
		}},
		{"ascii", options(busy), 140, 24, func(t *testing.T, m model) model { return m.withTheme(newTheme(false, true, true)) }},
		{"help", options(still), 140, 40, func(t *testing.T, m model) model { return pressKeys(t, m, "?") }},
		{"help narrow", options(still), 60, 15, func(t *testing.T, m model) model { return pressKeys(t, m, "?", "ctrl+f") }},
		{"question", options(still), 80, 15, func(t *testing.T, m model) model { return pressKeys(t, m, "q") }},
		{"question narrow", options(still), 60, 15, func(t *testing.T, m model) model { return pressKeys(t, m, "q") }},
		{"filter", options(trouble), 100, 24, func(t *testing.T, m model) model { return pressKeys(t, m, "/", "j", "o", "b") }},
		{"frozen", options(busy), 100, 24, func(t *testing.T, m model) model { return pressKeys(t, m, "space") }},
		{"all", options(trouble), 120, 40, func(t *testing.T, m model) model { return pullOnce(t, pressKeys(t, m, "tab", "a", "-", "-")) }},
		{"controller", options(trouble), 120, 50, func(t *testing.T, m model) model { return pullOnce(t, pressKeys(t, m, "enter")) }},
		{"controller narrow", options(trouble), 60, 24, func(t *testing.T, m model) model { return pullOnce(t, pressKeys(t, m, "enter")) }},
		{"object", options(trouble), 120, 30, openReplicaSet},
		{"object yaml", options(trouble), 80, 30, func(t *testing.T, m model) model {
			return pressKeys(t, openReplicaSet(t, m.withColor(true)), "e", "j", "j")
		}},
		{"lost", options(busy), 100, 20, func(t *testing.T, m model) model {
			return sendMsgs(t, m, pullResult{err: errors.New("dial tcp 127.0.0.1:6443: connect: connection refused")})
		}},
		{"silent", options(busy), 100, 20, func(t *testing.T, m model) model {
			m.pulling = true
			return sendMsgs(t, m, tickMsg(testNow.Add(5*time.Second)))
		}},
		{"warning", optionsWithWarnings(options(still), "the data folder is nearly full"), 100, 20, nil},
		{"warnings", optionsWithWarnings(options(still), "the data folder is nearly full", "a client\x1b[2J sends 200 requests a second, which is more than a control plane for development is made for"), 60, 15,
			func(t *testing.T, m model) model { return pressKeys(t, m, "W") }},
		{"nothing active", options(still), 60, 15, func(t *testing.T, m model) model { return pressKeys(t, m, "i", "tab", "/", "x", "enter") }},
		{"small", options(still), 30, 8, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newPlainModel(t, tt.o, tt.w, tt.h)
			if tt.do != nil {
				m = tt.do(t, m)
			}
			expectScreen(t, tt.name, m)
		})
	}
}

func optionsWithWarnings(o Options, warnings ...string) Options {
	o.Warnings = func() []string { return warnings }
	return o
}

// openReplicaSet opens the ReplicaSet that the deployment controller created.
func openReplicaSet(t *testing.T, m model) model {
	t.Helper()
	m = pressKeys(t, m, "tab", "g", "/", "c", "r", "e", "a", "t", "e", "enter", "g", "enter", "enter")
	return pullOnce(t, m)
}

// bootingSnapshot is a control plane at the beginning of its start.
func bootingSnapshot() observe.Snapshot {
	s := observe.Snapshot{Time: startTime.Add(300 * time.Millisecond)}
	s.Process = observe.Process{Name: "dev", Version: "v0.3.0", State: observe.Starting, Started: startTime, MemoryBytes: 90_000_000, CPUPercent: 140}
	s.Controllers = []observe.Controller{{Name: "deployment-controller", State: "building"}, {Name: "serviceaccount-token-controller", State: stateRunning}}
	return s
}

// expectScreen compares the screen with a golden file.
func expectScreen(t *testing.T, name string, m model) {
	t.Helper()
	expectFits(t, m)
	testutil.Golden(t, "testdata/"+strings.ReplaceAll(name, " ", "_")+".golden", []byte(m.View().Content+"\n"))
}

// expectFits fails if the content exceeds the screen.
func expectFits(t *testing.T, m model) {
	t.Helper()
	lines := m.drawScreen()
	if len(lines) > m.height {
		t.Errorf("%dx%d: %d lines", m.width, m.height, len(lines))
	}
	for i, l := range lines {
		if w := lipgloss.Width(l); w > m.width {
			t.Errorf("%dx%d: line %d is %d columns wide: %q", m.width, m.height, i, w, l)
		}
	}
}
