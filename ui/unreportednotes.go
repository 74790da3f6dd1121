package ui

import (
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// UnreportedNotes says of many objects, one after the other, why no client reports their states. It is not safe for concurrent
// use.
type UnreportedNotes struct {
	snapshot func() (observe.Snapshot, error)
	now      observe.Snapshot
	taken    time.Time
	err      error
}

// NewUnreportedNotes returns notes of the snapshots that a function takes: at most one a second, and none after an error.
func NewUnreportedNotes(snapshot func() (observe.Snapshot, error)) *UnreportedNotes {
	return &UnreportedNotes{snapshot: snapshot}
}

// Of says, to be appended to what the state of an object is, what [UnwatchedNote] says or which controllers fail for it, as
// it was in the last second. The kind is given as RESOURCE.GROUP. It is empty if neither is so, or if that is not known.
func (u *UnreportedNotes) Of(resource string, ref health.Ref) string {
	if !u.isKnown() {
		return ""
	}
	if note := UnwatchedNote(u.now, resource, ref.Namespace, ref.Name); note != "" {
		return ", and " + note
	}
	if failing := failingOperators(u.now, resource, ref); len(failing) > 0 {
		return ": " + strings.Join(failing, "; ")
	}
	return ""
}

// OfHealthy says, to be appended to the message of an object that is healthy to health.Wait, which controllers of operators fail for it.
func (u *UnreportedNotes) OfHealthy(s health.State) string {
	if s.Status != health.Current || !kinds.IsCustom(s.Ref.GroupKind()) || !u.isKnown() {
		return ""
	}
	failing := strings.Join(failingOperators(u.now, s.Resource, s.Ref), "; ")
	switch {
	case failing == "":
		return ""
	case s.Doubt != "":
		return "; " + failing
	}
	return ", but " + failing
}

// isKnown takes a snapshot if the last one is a second old, and reports whether there is one.
func (u *UnreportedNotes) isKnown() bool {
	if u.err == nil && time.Since(u.taken) >= time.Second {
		u.now, u.err = u.snapshot()
		u.taken = time.Now()
	}
	return u.err == nil
}

// failingOperators says which controllers of operators that receive the events of a kind fail for the key of an object.
func failingOperators(now observe.Snapshot, resource string, ref health.Ref) (list []string) {
	name, _, _ := strings.Cut(resource, ".")
	about := observe.Object{Kind: ref.Kind, Resource: name, Namespace: ref.Namespace, Name: ref.Name}
	for i := range now.Controllers {
		c := &now.Controllers[i]
		if !isReportedFor(c, resource) {
			continue
		}
		for _, key := range c.Failing {
			if f := (trace.FailingKey{Controller: c, FailingKey: key}); f.IsOf(about) && IsFailing(key, now.Process.Settled) {
				list = append(list, strings.TrimSuffix(f.Sentence(now.Time), "."))
			}
		}
	}
	return list
}

// isReportedFor reports whether a controller is of an operator with the module instrument and receives the events of a kind.
func isReportedFor(c *observe.Controller, resource string) bool {
	return observe.IsReported(c.Name) && slices.Contains(c.Watches, resource)
}

func hasReportedController(now observe.Snapshot, resource string) bool {
	return slices.ContainsFunc(now.Controllers, func(c observe.Controller) bool { return isReportedFor(&c, resource) })
}
