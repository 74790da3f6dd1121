package ui

import (
	"fmt"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Intervention is what a person does to a controller.
type Intervention struct {
	Controller string
	State      string // paused, stopped or running
	Reason     string // what is done to it, in a few words; may be empty
}

// String is the hand in a few words.
func (h Intervention) String() string {
	if h.Reason == "" {
		return h.Controller + " is " + h.State
	}
	return fmt.Sprintf("%s is %s: %s", h.Controller, h.State, h.Reason)
}

// Interventions are those on the controllers of a snapshot, by controller. One that is
// paused or runs with a reason has a hand on it, and so has one that is off
// because it was stopped.
func Interventions(s observe.Snapshot) []Intervention {
	var hands []Intervention
	for _, c := range s.Controllers {
		switch {
		case c.State == "paused", c.State == "running" && c.Reason != "":
			hands = append(hands, Intervention{sanitizeLine(c.Name), c.State, sanitizeLine(c.Reason)})
		case c.State == "off" && c.Reason == "stopped":
			hands = append(hands, Intervention{sanitizeLine(c.Name), "stopped", ""})
		}
	}
	return hands
}

// summarizeInterventions names the controllers with a hand on them in a few words; empty if
// there are none.
func summarizeInterventions(s observe.Snapshot) string {
	var names []string
	for _, h := range Interventions(s) {
		is := h.State
		if h.State == "running" {
			is = h.Reason
		}
		names = append(names, fmt.Sprintf("%s (%s)", h.Controller, is))
	}
	if len(names) == 0 {
		return ""
	}
	return "by hand: " + joinFirst(names)
}
