package ui

import (
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// UnwatchedNote says that no client watches a kind, given as RESOURCE.GROUP: none will write the status of its objects.
// It is empty if one does. Watches of kubectl and ctrlplane, which only show objects, do not count.
func UnwatchedNote(now observe.Snapshot, resource string) string {
	if len(watchers(now, resource)) > 0 {
		return ""
	}
	return "no client watches " + resource + pollersOf(now, resource)
}

// pollersOf names the clients that poll a kind: operators that write the status of its objects, or tests that await it.
func pollersOf(now observe.Snapshot, resource string) string {
	var names []string
	for _, c := range now.Clients {
		if mayWork(&c) && slices.ContainsFunc(c.Polls, func(p observe.ClientPoll) bool { return p.Resource == resource }) {
			names = append(names, words.OneLine(c.Name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", though it is polled by " + words.And(names)
}

// NeverWatchedNote is like [UnwatchedNote], but empty also if a client has watched the kind before and has ended, as one
// in the process of a test does.
func NeverWatchedNote(now observe.Snapshot, resource string) string {
	hasWatched := func(c observe.Client) bool { return mayWork(&c) && slices.Contains(c.Watched, resource) }
	if len(watchers(now, resource)) > 0 || slices.ContainsFunc(now.Clients, hasWatched) {
		return ""
	}
	return "no client has watched " + resource + pollersOf(now, resource)
}

// UnwatchedNotes says of many objects, one after the other, what [UnwatchedNote] says of their kind. It is not safe for
// concurrent use.
type UnwatchedNotes struct {
	snapshot func() (observe.Snapshot, error)
	now      observe.Snapshot
	taken    time.Time
	err      error
}

// NewUnwatchedNotes returns notes of the snapshots that a function takes: at most one a second, and none after an error.
func NewUnwatchedNotes(snapshot func() (observe.Snapshot, error)) *UnwatchedNotes {
	return &UnwatchedNotes{snapshot: snapshot}
}

// Of is like [UnwatchedNote], with what clients have watched in the last second. It is empty if that is not known.
func (u *UnwatchedNotes) Of(resource string) string {
	if u.err == nil && time.Since(u.taken) >= time.Second {
		u.now, u.err = u.snapshot()
		u.taken = time.Now()
	}
	if u.err != nil {
		return ""
	}
	return UnwatchedNote(u.now, resource)
}

// watchers returns the clients that watch a kind and may work for its objects.
func watchers(now observe.Snapshot, resource string) (list []observe.Client) {
	for _, c := range now.Clients {
		if mayWork(&c) && slices.ContainsFunc(c.Watches, func(w observe.ClientWatch) bool { return w.Resource == resource }) {
			list = append(list, c)
		}
	}
	return list
}

// mayWork reports whether a client may write what it watches: kubectl and ctrlplane only show it.
func mayWork(c *observe.Client) bool {
	program := observe.ProgramOf(c.Name)
	return program != "kubectl" && program != "ctrlplane"
}

// missingStatus says that an object has no status, which is worth to be said if the program that should write it does not
// run, or if an intervention may be why. Many kinds have a status that no program writes.
func missingStatus(now observe.Snapshot, resource string) string {
	const text = "It has no status yet"
	if note := UnwatchedNote(now, resource); note != "" {
		return text + ", and " + note + "."
	}
	if slices.ContainsFunc(watchers(now, resource), func(c observe.Client) bool { return c.Reason != "" }) {
		return text + "."
	}
	return ""
}
