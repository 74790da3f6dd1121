package ui

import (
	"fmt"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Intervention is a manual change of a running controller, or of what a client does.
type Intervention struct {
	Controller string // or the client
	State      string // paused, stopped or running
	Reason     string // the intervention in a few words; may be empty
}

// String describes the intervention in a few words.
func (i Intervention) String() string {
	if i.Reason == "" {
		return i.Controller + " is " + i.State
	}
	return fmt.Sprintf("%s is %s: %s", i.Controller, i.State, i.Reason)
}

// Interventions returns the interventions on the controllers and clients of a snapshot.
// One has an intervention if it is paused, runs with a reason, or is off because it was
// stopped.
func Interventions(s observe.Snapshot) []Intervention {
	var found []Intervention
	for _, c := range s.Controllers {
		switch {
		case c.State == "paused", c.State == "running" && c.Reason != "":
			found = append(found, Intervention{words.OneLine(c.Name), c.State, words.OneLine(c.Reason)})
		case c.State == "off" && c.Reason == observe.ReasonStopped && s.Process.State != observe.Stopping: // all are, then
			found = append(found, Intervention{words.OneLine(c.Name), "stopped", ""})
		}
	}
	for _, c := range s.Clients {
		if c.State == "paused" || c.Reason != "" {
			found = append(found, Intervention{words.OneLine(c.Name), c.State, words.OneLine(c.Reason)})
		}
	}
	return found
}

// summarizeInterventions names the controllers with an intervention; empty if
// there are none.
func summarizeInterventions(s observe.Snapshot) string {
	var names []string
	for _, i := range Interventions(s) {
		state := i.State
		if i.State == "running" {
			state = i.Reason
		}
		names = append(names, fmt.Sprintf("%s (%s)", i.Controller, state))
	}
	if len(names) == 0 {
		return ""
	}
	return "changed manually: " + joinFirst(names)
}
