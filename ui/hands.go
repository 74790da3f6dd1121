package ui

import (
	"fmt"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Hand is what a person does to a controller.
type Hand struct {
	Controller string
	Is         string // paused, stopped or running
	Why        string // what is done to it, in a few words; may be empty
}

// String is the hand in a few words.
func (h Hand) String() string {
	if h.Why == "" {
		return h.Controller + " is " + h.Is
	}
	return fmt.Sprintf("%s is %s: %s", h.Controller, h.Is, h.Why)
}

// Hands are those on the controllers of a snapshot, by controller. One that is
// paused or runs with a reason has a hand on it, and so has one that is off
// because it was stopped.
func Hands(s observe.Snapshot) []Hand {
	var hands []Hand
	for _, c := range s.Controllers {
		switch {
		case c.State == "paused", c.State == "running" && c.Reason != "":
			hands = append(hands, Hand{oneLine(c.Name), c.State, oneLine(c.Reason)})
		case c.State == "off" && c.Reason == "stopped":
			hands = append(hands, Hand{oneLine(c.Name), "stopped", ""})
		}
	}
	return hands
}

// handsIn names the controllers with a hand on them in a few words; empty if
// there are none.
func handsIn(s observe.Snapshot) string {
	var names []string
	for _, h := range Hands(s) {
		is := h.Is
		if h.Is == "running" {
			is = h.Why
		}
		names = append(names, fmt.Sprintf("%s (%s)", h.Controller, is))
	}
	if len(names) == 0 {
		return ""
	}
	return "by hand: " + few(names)
}
