package trace

import (
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// MayHaveEnded reports whether there is an operator that [NotRunning] would name for the objects that it works for.
func MayHaveEnded(now observe.Snapshot) bool {
	p := newPainter(Style{}, phrases{})
	isOff := func(c observe.Controller) bool { return p.stateSentence(&c, now.Time) != "" }
	silent := func(c observe.Client) bool { return isSilent(&c, now.Time) }
	return slices.ContainsFunc(now.Controllers, isOff) || slices.ContainsFunc(now.Clients, silent) || !now.Process.EndedOperator.Time.IsZero()
}

// NotRunning says which operators that work for an object do not run, one sentence each.
func NotRunning(now observe.Snapshot, records []observe.Record, about observe.Object, s Style) []string {
	return newPainter(s, phrases{}).notRunning(Options{State: now}, records, about, map[string]bool{})
}

// notRunning says which operators that work for an object do not run, one sentence each. It leaves out the controllers
// of which that has been said. At the end of a recording that is so of all that ended before the control plane.
func (p *painter) notRunning(o Options, records []observe.Record, about observe.Object, said map[string]bool) (list []string) {
	now := o.State
	for i := range now.Controllers {
		c := &now.Controllers[i]
		hasLeft := o.AtEnd && (c.Gone == observe.GoneEnded || c.Gone == "" && c.Reason == observe.GoneEnded.Reason(nil)) // an earlier version has the reason only
		if hasLeft || said[c.Name] || c.ProcessState() == observe.StateOff && runsUnreported(now, c.Name) || hasSuccessor(now, c, about) {
			continue
		}
		if state := p.stateSentence(c, now.Time); state != "" && worksFor(c, records, about) {
			list = append(list, words.OneLine(state))
		}
	}
	if o.AtEnd {
		return list
	}
	var silent []*observe.Client
	statusWriter := lastStatusWriter(records, about)
	for i := range now.Clients {
		c := &now.Clients[i]
		works := isOperator(c.Name, records, about) || c.Name == statusWriter && hasWatched(c)
		if isSilent(c, now.Time) && works && !isReplaced(now, c, records, about) {
			silent = append(silent, c)
		}
	}
	list = append(p.endedOperator(now, about, len(list)+len(silent) > 0), list...)
	for _, c := range silent {
		isSaid := func(other *observe.Client) bool { // one of several clients of the same process is enough
			return other.LastTime.After(c.LastTime) && slices.Contains(c.SharesConnection, other.Name)
		}
		if !slices.ContainsFunc(silent, isSaid) {
			list = append(list, words.OneLine(c.Name)+" has no watch, and made its last request at "+
				p.formatClock(c.LastTime)+" ("+p.formatDuration(now.Time.Sub(c.LastTime))+" ago).")
		}
	}
	return list
}

// endedOperator says that the operator of "ctrlplane dev" has ended, if an operator of the object does not run. Of a custom
// resource it says so anyway: one that ends at its start has left no trace of what it works for.
func (p *painter) endedOperator(now observe.Snapshot, about observe.Object, worksForIt bool) []string {
	isCustom := strings.Contains(about.Group, ".") && !strings.HasSuffix(about.Group, ".k8s.io")
	e := now.Process.EndedOperator
	if e.Time.IsZero() || !worksForIt && !isCustom {
		return nil
	}
	return []string{"The operator of dev has not run" + p.since(e.Time, now.Time) + ": " + e.Cause() + "; dev starts it again when a source changes."}
}

// hasSuccessor reports whether another controller runs in the place of one: of another user or program, with the same
// name, for the same objects.
func hasSuccessor(now observe.Snapshot, c *observe.Controller, about observe.Object) bool {
	_, name, _ := observe.SplitReported(c.Name)
	return slices.ContainsFunc(now.Controllers, func(other observe.Controller) bool {
		_, otherName, isReported := observe.SplitReported(other.Name)
		runs := other.ProcessState() == observe.StateRunning || other.ProcessState() == observe.StatePaused
		return isReported && runs && other.Name != c.Name && otherName == name && slices.Contains(other.Watches, about.GroupResource())
	})
}

// isSilent reports whether a client that reports no controllers neither watches nor polls, and has sent nothing for long.
func isSilent(c *observe.Client, now time.Time) bool {
	return c.IsSilent(now) && len(c.Controllers) == 0 && c.Refused == ""
}

// isReplaced reports whether a client runs in the place of one: of the same program, also with another user agent, or one
// that has reacted to the object since.
func isReplaced(now observe.Snapshot, c *observe.Client, records []observe.Record, about observe.Object) bool {
	return slices.ContainsFunc(now.Clients, func(other observe.Client) bool {
		if !other.Connected || other.Name == c.Name {
			return false
		}
		if observe.ProgramOf(other.Name) == observe.ProgramOf(c.Name) || slices.Contains(c.SharesConnection, other.Name) {
			return true
		}
		_, last := reactions(other.Name, records, about)
		return last.After(c.LastTime)
	})
}

// runsUnreported reports whether the client of a controller that is off runs: without the module, or another process.
func runsUnreported(now observe.Snapshot, controller string) bool {
	return slices.ContainsFunc(now.Clients, func(c observe.Client) bool { return c.Connected && slices.Contains(c.Controllers, controller) })
}

// stateSentence says since when a controller of an operator does not run, and why; empty if it runs, or if it is
// another controller.
func (p *painter) stateSentence(c *observe.Controller, now time.Time) string {
	if !observe.IsReported(c.Name) || c.Since.IsZero() {
		return ""
	}
	is := ""
	switch c.ProcessState() {
	case observe.StateOff:
		is = " has not run"
	case observe.StateUnknown:
		is = " has most likely not run"
	case observe.StateBuilding:
		if now.Sub(c.Since) < minWorking {
			return ""
		}
		is = " has been waiting"
	default:
		return ""
	}
	return c.Name + is + p.since(c.Since, now) + ": " + c.Reason + "."
}

// worksFor reports whether a controller of an operator works for an object: it has the name of the object's kind, has
// synced its key, or has written it.
func worksFor(c *observe.Controller, records []observe.Record, about observe.Object) bool {
	if isNamedAfter(c.Name, "", about) && (len(c.Watches) == 0 || slices.Contains(c.Watches, about.GroupResource())) {
		return true
	}
	queues := map[string]bool{}
	for i := range records {
		switch e := records[i].Event.(type) {
		case *observe.Synced:
			if e.Controller == c.Name && e.Key == about.Key() {
				queues[e.Queue] = true
			}
		case *observe.Called:
			if e.Controller == c.Name && hasWritten(e, about) {
				return true
			}
		}
	}
	for queue := range queues {
		if isObjectKey(records, c.Name, queue, about.Key(), about) {
			return true
		}
	}
	return false
}

// isOperator reports whether a client works for an object as operators do: of several events, one at least of the object.
func isOperator(client string, records []observe.Record, about observe.Object) bool {
	events, last := reactions(client, records, about)
	return events > 1 && !last.IsZero() && observe.ProgramOf(client) != "ctrlplane"
}

// hasWatched reports whether a client has watched something, as operators do, also such whose causes are not known. The user of
// kubectl may write a status, too.
func hasWatched(c *observe.Client) bool {
	program := observe.ProgramOf(c.Name)
	return !c.WatchEnded.IsZero() && program != "kubectl" && program != "ctrlplane"
}

// lastStatusWriter returns which client, or controller, has last written the status of an object; empty if none has.
func lastStatusWriter(records []observe.Record, about observe.Object) string {
	for _, r := range slices.Backward(records) {
		if c, ok := r.Event.(*observe.Called); ok && c.Subresource == "status" && !c.DryRun && hasWritten(c, about) {
			return c.Controller
		}
	}
	return ""
}

// reactions returns for how many events a client that reports no controllers has written a status or another object, and
// when it last did so for an event of an object, or wrote that.
func reactions(client string, records []observe.Record, about observe.Object) (events int, last time.Time) {
	delivered, causes := map[uint64]*observe.Object{}, map[uint64]bool{}
	for i := range records {
		switch e := records[i].Event.(type) {
		case *observe.Delivered:
			delivered[records[i].Seq] = &e.Object
		case *observe.Called:
			of := delivered[e.Cause]
			if e.Controller != client || of == nil || !e.IsWrite() || e.Failed() || e.Verb == "delete" {
				continue
			}
			if e.Object.Same(*of) && e.Subresource != "status" {
				continue
			}
			if causes[e.Cause] = true; of.Same(about) || e.Object.Same(about) {
				last = records[i].Time
			}
		}
	}
	return len(causes), last
}

// hasWritten reports whether a call has written an object.
func hasWritten(c *observe.Called, about observe.Object) bool {
	return c.IsWrite() && !c.Failed() && c.Object.Same(about)
}
