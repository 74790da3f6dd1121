package ui

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

const maxNamed = 3 // queues or controllers named in a sentence

// summarizeActivity returns the pending work, what fails and the API request rate in a few
// words.
func summarizeActivity(s observe.Snapshot) string {
	text, but := "settled", ", but "
	if !s.Process.Settled {
		text, but = cmp.Or(s.Process.StandbyReason(), describeUnknown(s), "busy: "+describeWork(s)), "; "
	}
	if failing := DescribeFailing(s); failing != "" {
		text += but + failing
	}
	if s.Process.RequestRate > 0 {
		text += "; " + CountNoun(int(math.Round(s.Process.RequestRate)), "request") + "/s"
	}
	return words.OneLine(text)
}

// describeUnknown names the queues for which it is not known whether keys are left, if all others have none.
// The queues of a control plane are known.
func describeUnknown(s observe.Snapshot) string {
	var names []string
	for _, q := range UnknownQueues(s) {
		names = append(names, queueLabel(q, true))
	}
	if names == nil {
		return ""
	}
	return "not known to be settled: the keys of " + words.First(names, maxNamed) + " are unknown"
}

// StateWord returns the state of a control plane in a word: starting, stopping, settled, standby, unknown or busy.
func StateWord(s observe.Snapshot) string {
	switch {
	case s.Process.State == observe.Starting || s.Process.State == observe.Stopping:
		return string(s.Process.State)
	case s.Process.StandbyReason() != "":
		return "standby"
	case len(UnknownQueues(s)) > 0:
		return "unknown"
	case s.Process.Settled:
		return "settled"
	}
	return "busy"
}

// UnknownQueues returns the queues of the process that keep it from being settled because their keys are unknown.
func UnknownQueues(s observe.Snapshot) (list []observe.Queue) {
	if s.Process.Settled || s.Process.Busy != nil {
		return nil
	}
	for _, q := range s.Queues {
		if q.HasUnknownKeys() && !q.Outside {
			list = append(list, q)
		}
	}
	return list
}

// describeWork names the deepest queues or, if all are empty, the busy controllers.
func describeWork(s observe.Snapshot) string {
	var names []string
	for _, q := range busyQueues(s.Queues) {
		if !q.Parked { // its keys wait for a change elsewhere
			names = append(names, describePending(q))
		}
	}
	if len(names) == 0 {
		names = s.Process.Busy
	}
	if len(names) == 0 {
		return describeRecentWork(s)
	}
	return words.First(names, maxNamed)
}

// describeRecentWork says why a control plane without work is not settled yet: the last
// write, delivery or sync may have effects that are on their way. It names who that was.
func describeRecentWork(s observe.Snapshot) string {
	const recent = "the last write, delivery or sync was only a moment ago"
	if who := s.Process.LastActive; who != "" {
		return ShortName(who) + ": " + recent
	}
	var names []string
	for _, q := range s.Queues {
		if who := cmp.Or(q.Controller, q.Name); q.DoneRate > 0 && !slices.Contains(names, who) {
			names = append(names, who)
		}
	}
	if len(names) == 0 {
		return recent
	}
	return recent + " (at work lately: " + words.First(names, maxNamed) + ")"
}

// busyQueues returns the queues with work, deepest first.
func busyQueues(queues []observe.Queue) []observe.Queue {
	var busy []observe.Queue
	for _, q := range queues {
		if q.Pending() > 0 && !q.Outside {
			busy = append(busy, q)
		}
	}
	slices.SortStableFunc(busy, func(a, b observe.Queue) int {
		return cmp.Or(cmp.Compare(b.Depth, a.Depth), cmp.Compare(b.InFlight, a.InFlight))
	})
	return busy
}

// describePending describes the keys of a queue: "scheduler active (depth 3, 1 in flight)".
func describePending(q observe.Queue) string {
	var numbers []string
	if q.Depth >= 0 {
		numbers = append(numbers, fmt.Sprintf("depth %d", q.Depth))
	}
	if q.InFlight >= 0 {
		numbers = append(numbers, fmt.Sprintf("%d in flight", q.InFlight))
	}
	return queueLabel(q, true) + " (" + strings.Join(numbers, ", ") + ")"
}
