package ui

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// LoopInterval is how often views look for hot loops, which reads thousands of records.
	LoopInterval = 5 * time.Second
	// loopRate is the least rate per second of what may be a hot loop.
	loopRate = 2
	// loopMemory is for how long a loop that was not found again is still taken for the same one.
	loopMemory = time.Minute
)

// alwaysBusy are queues that get keys in an idle control plane, too: of checks that the API server repeats, and of the events
// of all objects, for the garbage collector. Their syncs rarely write anything.
var alwaysBusy = map[string]bool{
	"LocalAvailabilityController":        true,
	"RemoteAvailabilityController":       true,
	"garbage_collector_graph_changes":    true,
	"open_api_v3_aggregation_controller": true,
}

// IsRepeating reports whether anything happens often enough to be a hot loop.
func IsRepeating(s observe.Snapshot) bool {
	for i := range s.Queues {
		if q := &s.Queues[i]; q.AddRate >= loopRate && !alwaysBusy[q.Name] {
			return true
		}
	}
	for i := range s.Clients {
		if s.Clients[i].RequestRate >= loopRate {
			return true
		}
	}
	return false
}

// loopSubject identifies the work that repeats itself.
type loopSubject struct {
	controller, queue, key, verb, object, subresource string
}

// loopFinder finds hot loops that it has not found before.
type loopFinder struct {
	src   observe.Source
	at    time.Time // of the last look
	found map[loopSubject]time.Time
}

// find returns the hot loops that are new, if it is time to look. If the records cannot be read there are none: Follow says why.
func (f *loopFinder) find(ctx context.Context, s observe.Snapshot) (added []assert.HotLoop) {
	if !IsRepeating(s) || s.Time.Sub(f.at) < LoopInterval {
		return nil
	}
	f.at = s.Time
	loops, err := assert.FindLoops(ctx, f.src, s.Time)
	if err != nil {
		return nil
	}
	maps.DeleteFunc(f.found, func(_ loopSubject, last time.Time) bool { return s.Time.Sub(last) > loopMemory })
	for _, l := range loops {
		subject := subjectOf(l)
		if _, known := f.found[subject]; !known {
			added = append(added, l)
		}
		f.found[subject] = s.Time
	}
	return added
}

func subjectOf(l assert.HotLoop) loopSubject {
	s := loopSubject{controller: l.Controller, queue: l.Queue, key: l.Key, verb: l.Verb, subresource: l.Subresource}
	switch {
	case l.Creates != "": // each object has another name
		s.object = l.Creates
	case l.Object != nil:
		s.object = l.Object.String()
	}
	return s
}

// LoopedWork names what a hot loop repeats: a key, or a write of a client.
func LoopedWork(l assert.HotLoop) string {
	what := l.Key
	if l.Object != nil {
		what = strings.TrimSpace(l.Verb + " of " + l.Object.String() + " " + l.Subresource)
	}
	return words.OneLine(what)
}
