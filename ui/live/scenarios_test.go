package live

import (
	"fmt"
	"image/color"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// rolloutSnapshot is a control plane that rolls out 40 Deployments at a tenth of its speed.
func rolloutSnapshot() observe.Snapshot {
	s := burstSnapshot()
	s.Process.Speed = observe.SpeedTenth
	s.Process.Busy = []string{"deployment-controller", "replicaset-controller", "endpointslice-controller"}
	for i := range s.Queues {
		switch q := &s.Queues[i]; q.Name {
		case "deployment":
			q.Depth, q.MaxDepth, q.History = 35, 38, nil
		case "replicaset":
			q.Depth, q.MaxDepth, q.History = 7, 21, nil
		}
	}
	for i := range s.Controllers {
		for n := range s.Controllers[i].Running {
			s.Controllers[i].Running[n].Waits = n > 0
		}
	}
	return s
}

// heldSnapshot is a control plane with one paused controller, whose key is in flight.
func heldSnapshot() observe.Snapshot {
	s := idleSnapshot()
	s.Process.Settled, s.Process.Busy = false, []string{"replicaset-controller"}
	for i := range s.Controllers {
		if c := &s.Controllers[i]; c.Name == "replicaset-controller" {
			c.State, c.Reason = statePaused, "its writes are held"
		}
	}
	for i := range s.Queues {
		if q := &s.Queues[i]; q.Name == "replicaset" {
			q.InFlight = 1
		}
	}
	return s
}

// operatorSnapshot is a control plane with an operator whose syncs fail.
func operatorSnapshot() observe.Snapshot {
	s := idleSnapshot()
	const operator = "shop-operator (system:serviceaccount:shop:operator)"
	s.Process.Settled, s.Process.Busy = false, []string{operator}
	s.Controllers = append(s.Controllers, observe.Controller{
		Name: operator, State: stateRunning, Syncs: 12, Failures: 12,
		Failing: []observe.FailingKey{{Queue: "site", Key: "shop/shop", KeyBasis: observe.BasisQueue, Times: 12, Last: testNow, Due: testNow.Add(5 * time.Second),
			Error: `deployments.apps "shop" is forbidden: User "system:serviceaccount:shop:operator" cannot patch resource "deployments" in API group "apps" in the namespace "shop"`}},
	})
	s.Queues = append(s.Queues, observe.Queue{Controller: operator, Name: "site", Depth: 2, MaxDepth: 3, Workers: 1, Adds: 14, Gets: 12, Done: 12, Retries: 12, ErrorRetries: 12, AddRate: 0.4, DoneRate: 0.4, Delayed: 1, NextDue: testNow.Add(5 * time.Second)})
	return s
}

// TestScenarios shows at the sizes of common terminals what a newcomer sees: which
// controller is busiest, and why.
func TestScenarios(t *testing.T) {
	scenarios := map[string]observe.Snapshot{
		"idle": idleSnapshot(), "rollout": rolloutSnapshot(), "paused": heldSnapshot(), "operator": operatorSnapshot(),
	}
	golden := func(t *testing.T, name string, m model) {
		expectFits(t, m)
		testutil.Golden(t, "testdata/scenarios/"+name+".golden", []byte(m.View().Content+"\n"))
	}
	for name, snapshot := range scenarios {
		source := &fixedSource{snapshot: snapshot, records: sampleRecords()}
		for _, size := range [][2]int{{80, 24}, {100, 30}, {140, 40}, {200, 60}} {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				m := newPlainModel(t, Options{Source: source}, size[0], size[1])
				golden(t, fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), m)
				requireAnswers(t, name, m)
			})
		}
		for look, msgs := range map[string][]tea.Msg{
			"16": {tea.ColorProfileMsg{Profile: colorprofile.ANSI}}, "light": {tea.BackgroundColorMsg{Color: color.White}}, "mono": nil,
			"16-light": {tea.ColorProfileMsg{Profile: colorprofile.ANSI}, tea.BackgroundColorMsg{Color: color.White}},
		} {
			t.Run(name+"/"+look, func(t *testing.T) {
				o := Options{Source: source}
				if look == "mono" {
					o.Theme = look
				}
				golden(t, name+"-"+look, sendMsgs(t, newTestModel(t, o, 100, 30), msgs...))
			})
		}
	}
}

// requireAnswers checks that the first row of the table names the controller that matters,
// and says why.
func requireAnswers(t *testing.T, scenario string, m model) {
	t.Helper()
	first := m.drawScreen()[m.screenAreas().upper.y+2]
	for _, want := range map[string][]string{
		"idle":     {"deployment", "·/5"},
		"rollout":  {"deployment", "35", "█", "░", "5/5", "default/web-17 +4"},
		"paused":   {"replicaset", "1/5", "paused"},
		"operator": {"shop-operator", "█", "fails: cannot patch deplo"},
	}[scenario] {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in the first row %q", want, first)
		}
	}
}
