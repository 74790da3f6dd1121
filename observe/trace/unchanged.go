package trace

import (
	"fmt"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// UnchangedWrites are the writes of an object by a client since it last changed that, none of which has changed anything.
type UnchangedWrites struct {
	controller string // the client's name, or that of its controller
	last       *observe.Called
	times      int
	at         time.Time // of the last one
	toStatus   bool      // the client has written the status by its subresource
}

// FindUnchangedWrites returns such writes of an object that exists, by client and subresource, in the order in which they
// began. It returns none if the storage has reported no write of the object, and leaves out kubectl and ctrlplane, whose users
// were told.
func FindUnchangedWrites(records []observe.Record, about observe.Object) (list []*UnchangedWrites) {
	of, isStored := placeOf(&about), false
	hasStatus := map[string]bool{}
	for i := range records {
		c, ok := records[i].Event.(*observe.Called)
		if !ok || !c.IsWrite() || c.DryRun || c.Object.Name != about.Name && len(c.Wrote) == 0 {
			continue
		}
		if at := slices.IndexFunc(c.Wrote, func(w observe.Written) bool { return placeOfWritten(w) == of }); at >= 0 {
			isStored = !c.Wrote[at].Deleted
			list = slices.DeleteFunc(list, func(u *UnchangedWrites) bool {
				return u.controller == c.Controller || !isStored || observe.Creates(c.Verb, c.Subresource, c.Status)
			})
		}
		if placeOf(&c.Object) != of || c.Client == nil || c.Failed() {
			continue
		}
		hasStatus[c.Controller] = hasStatus[c.Controller] || c.Subresource == "status"
		if (c.Verb == "update" || c.Verb == "patch") && (c.Subresource == "" || c.Subresource == "status") && isStored && len(c.Wrote) == 0 {
			list = noteUnchanged(list, c, records[i].Time)
		}
	}
	for _, u := range list {
		u.toStatus = hasStatus[u.controller]
	}
	return slices.DeleteFunc(list, func(u *UnchangedWrites) bool {
		program := observe.ProgramOf(u.controller)
		return program == "kubectl" || program == "ctrlplane"
	})
}

// noteUnchanged counts a write that has changed nothing.
func noteUnchanged(list []*UnchangedWrites, c *observe.Called, at time.Time) []*UnchangedWrites {
	i := slices.IndexFunc(list, func(u *UnchangedWrites) bool {
		return u.controller == c.Controller && u.last.Subresource == c.Subresource
	})
	if i < 0 {
		i, list = len(list), append(list, &UnchangedWrites{controller: c.Controller})
	}
	list[i].last, list[i].at = c, at
	list[i].times++
	return list
}

// minUnchanged is how often in a row an update changes nothing until it counts. A client may apply the same patch again and
// again by design, or update what it has not yet seen changed.
const minUnchanged = 3

// IsRepeated reports whether the client most likely writes again and again what the object has, or cannot have.
func (u *UnchangedWrites) IsRepeated() bool {
	return u.times >= minUnchanged && (u.last.Verb == "update" || len(u.last.Warnings) > 0)
}

// MayBeForStatus reports whether the writes, of an object without a status, may have been to set that: a client may apply the same
// patch again and again by design.
func (u *UnchangedWrites) MayBeForStatus() bool {
	return u.last.Verb == "update" || len(u.last.Warnings) > 0
}

// ForStatus says in a part of a sentence that the writes, of an object without a status, may have been to set that.
func (u *UnchangedWrites) ForStatus(s Style) string {
	if u.toStatus || len(u.last.Warnings) > 0 || u.times < 2 {
		return u.Describe(s)
	}
	return u.Describe(s) + ": the status is written by its subresource only"
}

// Describe says in a part of a sentence how often the client has written the object, and when last.
func (u *UnchangedWrites) Describe(s Style) string {
	times, what, last := "once", "it", ""
	if u.times > 1 {
		times, last = fmt.Sprintf("%d times", u.times), "last "
	}
	if u.last.Subresource == "status" {
		what = "its status"
	}
	return fmt.Sprintf("%s %s %s %s without a change, %sat %s", words.OneLine(u.controller), pastTense(u.last.Verb), what, times, last, s.FormatClock(u.at))
}
