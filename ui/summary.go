package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

const maxNamed = 3 // queues or controllers that a sentence names

// summarizeActivity says in a few words what there is to do, and how much is asked of the
// API server.
func summarizeActivity(s observe.Snapshot) string {
	text := "settled"
	if !s.Process.Settled {
		text = "busy: " + describeWork(s)
	}
	if s.Process.RequestRate > 0 {
		text += fmt.Sprintf("; %.0f requests/s", s.Process.RequestRate)
	}
	return sanitizeLine(text)
}

// describeWork names the fullest queues or, where all are empty, who is busy.
func describeWork(s observe.Snapshot) string {
	var names []string
	for _, q := range busyQueues(s.Queues) {
		names = append(names, fmt.Sprintf("%s (depth %d, %d in flight)", q.Name, q.Depth, q.InFlight))
	}
	if len(names) == 0 {
		names = s.Process.Busy
	}
	if len(names) == 0 {
		return "starting, or waiting for informers or timers"
	}
	return joinFirst(names)
}

// busyQueues returns the queues that are busy, the fullest first.
func busyQueues(queues []observe.Queue) []observe.Queue {
	var busy []observe.Queue
	for _, q := range queues {
		if q.Depth+q.InFlight > 0 {
			busy = append(busy, q)
		}
	}
	slices.SortStableFunc(busy, func(a, b observe.Queue) int {
		return cmp.Or(cmp.Compare(b.Depth, a.Depth), cmp.Compare(b.InFlight, a.InFlight))
	})
	return busy
}

// joinFirst lists the first names, and counts the others.
func joinFirst(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}
