package ui

import (
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	maxFailing = 3  // failing keys shown per controller
	minReason  = 30 // width of the last column of a table of states, however narrow the terminal is
)

// formatStates is a table of states. Without wide set it is in the order of the names that it shows, and its last column is wrapped.
func formatStates(rows [][]string, wide bool, width int) string {
	if wide {
		return formatTable(rows)
	}
	for _, row := range rows {
		row[0] = ShortName(row[0])
	}
	sortByName(rows[1:])
	return formatWrapped(rows, width, minReason)
}

var stateHeading = []string{"CONTROLLER", "STATE", "WHY"}

// isOffByDesign reports whether a controller is off because of flags or feature gates, which is not a problem.
func isOffByDesign(c observe.Controller) bool {
	return c.State == observe.StateOff && !c.HasIntervention() && !observe.IsReported(c.Name) && len(c.Failing) == 0
}

// offRows returns the controllers that are off by design.
func offRows(s observe.Snapshot) [][]string {
	rows := [][]string{slices.Clone(stateHeading)}
	for _, c := range s.Controllers {
		if isOffByDesign(c) {
			rows = append(rows, []string{c.Name, c.State, c.Reason})
		}
	}
	return rows
}

// clientTroubleRows returns the clients that have an intervention or are refused what they read.
func clientTroubleRows(s observe.Snapshot) [][]string {
	rows := [][]string{slices.Clone(stateHeading)}
	rows[0][0] = "CLIENT"
	for _, c := range s.Clients {
		if c.Reason != "" {
			rows = append(rows, []string{c.Name, c.State, WithHeld(c.Reason, c.Held)})
		}
		for _, why := range []string{c.Refused, describeDropped(c)} {
			if why != "" {
				rows = append(rows, []string{c.Name, c.State, why})
			}
		}
	}
	return rows
}

// troubleRows returns the other controllers that are not running or have an intervention, and failing keys.
func troubleRows(s observe.Snapshot) [][]string {
	rows := [][]string{slices.Clone(stateHeading)}
	for _, c := range s.Controllers {
		if isOffByDesign(c) {
			continue
		}
		if c.State != observe.StateRunning && c.State != "" || c.Reason != "" {
			rows = append(rows, []string{c.Name, c.State, WithHeld(DescribeReason(c, s.Time), c.Held)})
		}
		if c.Unlisted != "" {
			rows = append(rows, []string{c.Name, "waiting", DescribeUnlisted(c.Unlisted)})
		}
		for i, f := range c.Failing {
			if i == maxFailing {
				rows = append(rows, []string{c.Name, failingState(c, observe.FailingKey{}, true), countMoreKeys(len(c.Failing) - i + c.MoreFailing)})
				break
			}
			rows = append(rows, []string{c.Name, failingState(c, f, s.Process.Settled), describeFailingKey(c.ProcessState(), f, s.Time)})
		}
	}
	return rows
}

// DescribeUnlisted says that a controller waits for a kind, and why that cannot be listed.
func DescribeUnlisted(why string) string {
	return "a kind that it needs cannot be listed: " + words.OneLine(why)
}

// DescribeReason returns the reason of a controller's state, and of an operator since when that is
// so.
func DescribeReason(c observe.Controller, now time.Time) string {
	switch state := c.ProcessState(); {
	case c.Since.IsZero() || !observe.IsReported(c.Name):
		return c.Reason
	case state == observe.StateBuilding || state == observe.StateStopping:
		return "for " + words.Duration(max(now.Sub(c.Since), 0)) + ": " + c.Reason
	case state != observe.StateOff && state != observe.StateUnknown:
		return c.Reason
	}
	return c.Reason + ", " + words.Duration(max(now.Sub(c.Since), 0)) + " ago"
}

// failingState is the state of a key whose last sync failed: "retrying" after a conflict, or a
// first failure while controllers work.
func failingState(c observe.Controller, f observe.FailingKey, settled bool) string {
	switch {
	case c.ProcessState() == observe.StateOff:
		return observe.StateOff
	case IsFailing(f, settled):
		return "failing"
	}
	return "retrying"
}

// describeFailingKey describes a key whose last sync failed, of a controller in a state:
// "site: default/shop, 3 times in a row, next attempt in 2.1 s: no luck".
func describeFailingKey(state string, f observe.FailingKey, now time.Time) string {
	text := formatSyncKey(&observe.Synced{Queue: f.Queue, Key: f.Key, KeyBasis: f.KeyBasis}) + ", "
	if state == observe.StateOff {
		text += "failed before the stop, "
	}
	text += f.HowOften()
	if next := f.NextAttempt(now); state != observe.StateOff && next != "" {
		text += ", " + next
	}
	if f.Error == "" {
		return text
	}
	return text + ": " + f.Error
}
