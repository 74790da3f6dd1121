package web

import (
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// statusMessage is what the lines do not have: what the page says about the control plane as a whole, and which controllers and
// clients exist. The page judges nothing of it again, so that it says what the terminal says.
type statusMessage struct {
	State   string `json:"state"`             // as ui.StateWord returns it
	Failing string `json:"failing,omitempty"` // as ui.DescribeFailing returns it
	// Problems is the sentence about objects with a problem.
	Problems string    `json:"problems,omitempty"`
	Loops    []hotLoop `json:"loops,omitempty"` // the hottest first
	// EndedOperator is how the operator of dev has ended, while it does not run.
	EndedOperator string             `json:"endedOperator,omitempty"`
	Speed         observe.Speed      `json:"speed,omitempty"`
	Controllers   []controllerStatus `json:"controllers"`
	Clients       []observe.Client   `json:"clients"`
	Interventions []intervention     `json:"interventions"`
}

// hotLoop is work of a controller or client that causes itself again and again.
type hotLoop struct {
	Name string `json:"name"`
	Work string `json:"work"` // as ui.LoopedWork returns it
}

// controllerStatus is a controller, and what is judged about it.
type controllerStatus struct {
	observe.Controller
	Internal bool         `json:"internal,omitempty"` // it is a part of the API server
	StopVerb string       `json:"stopVerb,omitempty"` // as ui.StopVerb returns it
	Failing  []failingKey `json:"failing,omitempty"`
}

type failingKey struct {
	observe.FailingKey
	Worrying bool   `json:"worrying,omitempty"` // as ui.IsFailing reports it
	Retry    string `json:"retry,omitempty"`    // why the retry is normal; empty if it is not
}

// intervention is one that the header of the page lists.
type intervention struct {
	Name   string `json:"name"`
	Client bool   `json:"client,omitempty"`
	Text   string `json:"text"`
}

func newStatusMessage(s observe.Snapshot) statusMessage {
	m := statusMessage{
		State:         ui.StateWord(s),
		Problems:      ui.SummarizeProblems(s),
		EndedOperator: s.Process.EndedOperator.Cause(),
		Speed:         s.Process.Speed,
		Controllers:   make([]controllerStatus, len(s.Controllers)),
		Clients:       append([]observe.Client{}, s.Clients...),
		Interventions: []intervention{},
	}
	if s.Process.State == observe.Ready {
		m.Failing = ui.DescribeFailing(ui.MergeProblems(s))
	}
	for i := range s.Controllers {
		m.Controllers[i] = newControllerStatus(&s.Controllers[i], s.Process.Settled)
	}
	for _, i := range ui.Interventions(s) {
		m.Interventions = append(m.Interventions, newIntervention(i))
	}
	return m
}

func newControllerStatus(c *observe.Controller, settled bool) controllerStatus {
	status := controllerStatus{Controller: *c, Internal: ui.IsInternal(c.Name), StopVerb: ui.StopVerb(c)}
	for _, f := range c.Failing {
		key := failingKey{FailingKey: f, Worrying: ui.IsFailing(f, settled)}
		if ui.IsPassing(f) {
			key.Retry = ui.RetryReason(f.Error)
		}
		status.Failing = append(status.Failing, key)
	}
	return status
}

func newIntervention(i ui.Intervention) intervention {
	shown := intervention{Name: i.Controller, Client: i.OfClient, Text: i.State}
	if i.State == observe.StateRunning {
		shown.Text = i.Reason
	}
	return shown
}
