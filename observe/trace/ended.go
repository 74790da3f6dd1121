package trace

import (
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// notRunning says which operators that work for an object do not run, one sentence each. It leaves out the controllers
// of which that has been said.
func (p *painter) notRunning(now observe.Snapshot, records []observe.Record, about observe.Object, said map[string]bool) (list []string) {
	for i := range now.Controllers {
		c := &now.Controllers[i]
		if c.ProcessState() == observe.StateOff && runsUnreported(now, c.Name) {
			continue
		}
		if state := p.stateSentence(c, now.Time); state != "" && !said[c.Name] && worksFor(c, records, about) {
			list = append(list, words.OneLine(state))
		}
	}
	for i := range now.Clients {
		c := &now.Clients[i]
		if c.Connected || len(c.Watches) > 0 || c.LastTime.IsZero() || len(c.Controllers) > 0 || !hasReacted(c.Name, records, about) {
			continue
		}
		list = append(list, words.OneLine(c.Name)+" has most likely ended: it has no connection, and made its last request at "+
			p.formatClock(c.LastTime)+" ("+p.formatDuration(now.Time.Sub(c.LastTime))+" ago).")
	}
	return list
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
	if isNamedAfter(c.Name, "", about.Kind) && (len(c.Watches) == 0 || slices.Contains(c.Watches, about.GroupResource())) {
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

// hasReacted reports whether a client that reports no controllers has written because of an object's events, or has
// written the object because of an event.
func hasReacted(client string, records []observe.Record, about observe.Object) bool {
	return slices.ContainsFunc(records, func(r observe.Record) bool {
		switch e := r.Event.(type) {
		case *observe.Delivered:
			return e.Controller == client && canonicalObject(e.Object).Same(about)
		case *observe.Called:
			return e.Controller == client && e.Cause != 0 && hasWritten(e, about)
		}
		return false
	})
}

// hasWritten reports whether a call has written an object.
func hasWritten(c *observe.Called, about observe.Object) bool {
	return c.IsWrite() && !c.Failed() && canonicalObject(c.Object).Same(about)
}
