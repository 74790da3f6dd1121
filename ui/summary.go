package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

const maxNamed = 3 // queues or controllers that a sentence names

// summary says in a few words what there is to do, and how much is asked of the
// API server.
func summary(s observe.Snapshot) string {
	text := "settled"
	if !s.Process.Settled {
		text = "busy: " + work(s)
	}
	if s.Process.RequestRate > 0 {
		text += fmt.Sprintf("; %.0f requests/s", s.Process.RequestRate)
	}
	return oneLine(text)
}

// work names the fullest queues or, where all are empty, who is busy.
func work(s observe.Snapshot) string {
	var names []string
	for _, q := range deepest(s.Queues) {
		names = append(names, fmt.Sprintf("%s (depth %d, %d in flight)", q.Name, q.Depth, q.InFlight))
	}
	if len(names) == 0 {
		names = s.Process.Busy
	}
	if len(names) == 0 {
		return "starting, or waiting for informers or timers"
	}
	return few(names)
}

// deepest returns the queues that are busy, the fullest first.
func deepest(queues []observe.Queue) []observe.Queue {
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

// few lists the first names, and counts the others.
func few(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}
