package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// place is where an object is: that of a kind given as RESOURCE.GROUP. Without a namespace and name it stands for all.
type place struct{ resource, namespace, name string }

// UnwatchedNote says that no client watches an object, whose kind is given as RESOURCE.GROUP: none will write its status.
// It is empty if one does. Watches of kubectl and ctrlplane, which only show objects, do not count.
func UnwatchedNote(now observe.Snapshot, resource, namespace, name string) string {
	at := place{resource, namespace, name}
	if len(watchers(now, at)) > 0 {
		return ""
	}
	note := "no client watches "
	if len(watchers(now, place{resource: at.resource})) > 0 {
		note += "it, only others of "
	}
	return note + at.resource + pollersOf(now, at.resource) + standbyNote(now)
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

// NeverWatchedNote is like [UnwatchedNote] for all objects of a kind, but empty also if a client has watched the kind before and has ended, as one
// in the process of a test does.
func NeverWatchedNote(now observe.Snapshot, resource string) string {
	hasWatched := func(c observe.Client) bool { return mayWork(&c) && slices.Contains(c.Watched, resource) }
	if len(watchers(now, place{resource: resource})) > 0 || slices.ContainsFunc(now.Clients, hasWatched) {
		return ""
	}
	return "no client has watched " + resource + pollersOf(now, resource)
}

// watchers returns the clients that watch an object and may work for it.
func watchers(now observe.Snapshot, at place) (list []observe.Client) {
	isOf := func(limit, value string) bool { return limit == "" || value == "" || limit == value }
	for _, c := range now.Clients {
		if mayWork(&c) && slices.ContainsFunc(c.Watches, func(w observe.ClientWatch) bool {
			return w.Resource == at.resource && isOf(w.Namespace, at.namespace) && isOf(w.Name, at.name)
		}) {
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
// run or is silent, as a note says, or if an intervention may be why. Many kinds have a status that no program writes.
func missingStatus(now observe.Snapshot, at place, note string) string {
	const text = "It has no status yet"
	if note != "" {
		return text + ", and " + note + "."
	}
	if slices.ContainsFunc(watchers(now, at), func(c observe.Client) bool { return c.Reason != "" }) {
		return text + "."
	}
	return ""
}

// UnchangedNote says of an object without a status how clients have written it without changing it: they may have meant to set
// that.
func UnchangedNote(unchanged []*trace.UnchangedWrites, s trace.Style) string {
	var parts []string
	for _, u := range unchanged {
		if u.MayBeForStatus() {
			parts = append(parts, u.ForStatus(s))
		}
	}
	return strings.Join(parts, "; ")
}

// unreportedNote says why no client reports the state of an object: none watches it, or those that do have made no request
// since it was created. It is empty if that is not so.
func unreportedNote(now observe.Snapshot, at place, created time.Time) string {
	return cmp.Or(UnwatchedNote(now, at.resource, at.namespace, at.name), silentNote(now, at, created))
}

// minSilence is how old an object has to be until it is worth saying that no client has reacted to it, maxSilence how old
// it may be: the program may have nothing to do, and write no status by design.
const (
	minSilence = 5 * time.Second
	maxSilence = 10 * time.Minute
)

// silentNote says that the clients that watch an object have made no request since it was created: of a process that is
// suspended, as in a debugger, the connection stays open. It is empty if one has, or one that polls the kind, or if that is
// not known.
func silentNote(now observe.Snapshot, at place, created time.Time) string {
	age := now.Time.Sub(created)
	hasPolled := func(p observe.ClientPoll) bool { return p.Resource == at.resource && !p.Last.Before(created) }
	if created.IsZero() || age < minSilence || age > maxSilence ||
		slices.ContainsFunc(now.Clients, func(c observe.Client) bool { return mayWork(&c) && slices.ContainsFunc(c.Polls, hasPolled) }) {
		return ""
	}
	var names []string
	var asked []observe.Client // for Leases
	for _, c := range watchers(now, at) {
		if last := lastRequest(now, c.User); last.IsZero() || !last.Before(created) {
			return "" // it has worked since, or is waiting for an answer
		}
		names = append(names, words.OneLine(c.Name))
		if !c.LastTime.Before(created) {
			asked = append(asked, c)
		}
	}
	watches, have := "watches", "has"
	if len(names) > 1 {
		watches, have = "watch", "have"
	}
	return fmt.Sprintf("%s, which %s %s, %s made no request since it was created %s ago%s", words.And(names), watches, at.resource, have, words.Duration(age), leaseNote(asked))
}

// maxLeasePause is how long ago the last request of a client may be that asks for a Lease to become the leader: every 2 s by default.
const maxLeasePause = 30 * time.Second

// standbyNote names the clients that have read a Lease just now, have not written it, and watch nothing: a process may do so until
// another one has released the Lease, and watch its kinds after that.
func standbyNote(now observe.Snapshot) string {
	var names []string
	for _, c := range now.Clients {
		if mayWork(&c) && len(c.Watches) == 0 && c.Last != nil && c.Last.Object.IsLease() && !c.Last.IsWrite() && now.Time.Sub(c.LastTime) < maxLeasePause {
			names = append(names, words.OneLine(c.Name))
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; %s asks for a Lease only: it may wait to become the leader", names[0])
	}
	return fmt.Sprintf("; %s ask for Leases only: they may wait to become the leader", words.And(names))
}

// leaseNote says that clients have made requests for Leases all the same, and that one may wait for another process to release its.
func leaseNote(asked []observe.Client) string {
	switch {
	case len(asked) == 0:
		return ""
	case len(asked) == 1 && asked[0].Last != nil && asked[0].Last.Object.IsLease() && !asked[0].Last.IsWrite():
		return ", except for Leases: it may wait to become the leader"
	}
	return ", except for Leases"
}

// lastRequest returns when a program of a user made its last request that was not for a Lease, now for one without an answer: one
// program may watch and write under several names.
func lastRequest(now observe.Snapshot, user string) (last time.Time) {
	for _, c := range now.Clients {
		switch {
		case c.User != user || !mayWork(&c):
		case c.InFlight > 0:
			return now.Time
		case c.LastWork.IsZero() && c.LastTime.After(last): // of a recording of an earlier version
			last = c.LastTime
		case c.LastWork.After(last):
			last = c.LastWork
		}
	}
	return last
}
