package trace

import (
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// dueStart is the start of a CronJob for which its controller has created a Job, or has deleted the one before.
type dueStart struct {
	cronJob  *observe.Object
	replaces bool
}

// noteDueStarts notes which Jobs were created or replaced in a sync that a timer has queued: the start of their CronJob was due, and
// the last event that led to that timer is not the reason. A Job that is deleted before the next one is created is replaced if it
// is the last one that was created: those beyond the limits of the history are older.
func (g *graph) noteDueStarts() {
	starts := map[*Node]*Node{}         // by sync, the first creation
	last := map[observe.Object]string{} // by CronJob, the Job that was created last
	before := map[*Node]string{}        // by creation in starts, the Job that was created before
	for _, c := range g.calls {
		if c.Controller != controllernames.CronJob || c.Object.Resource != "jobs" || c.Verb != "create" {
			continue
		}
		cronJob := cronJobOf(c.Object)
		if s := c.scheduledSync(); s != nil && starts[s] == nil {
			starts[s], before[c] = c, last[*cronJob]
			c.start = &dueStart{cronJob: cronJob}
		}
		last[*cronJob] = c.Object.Name
	}
	for _, c := range g.calls {
		start := starts[c.scheduledSync()]
		if start == nil || c.Verb != "delete" || !c.Time.Before(start.Time) {
			continue
		}
		if name := before[start]; name == "" || name == c.Object.Name {
			c.start = &dueStart{cronJob: start.start.cronJob, replaces: true}
		}
	}
}

// scheduledSync returns the sync of the CronJob controller that has written a Job, if a timer has queued its key; else nil.
func (n *Node) scheduledSync() *Node {
	s := n.causedBy
	if n.Controller != controllernames.CronJob || n.Object.Resource != "jobs" || n.Subresource != "" || s == nil || s.Kind != Sync || s.Cause == nil {
		return nil
	}
	if s.causedBy.Kind == Sync || s.Cause.Rule == ByDelay {
		return s
	}
	return nil
}

// cronJobOf returns the CronJob that has started a Job: the controller names Jobs NAME-MINUTES.
func cronJobOf(job *observe.Object) *observe.Object {
	name, at := job.Name, strings.LastIndexByte(job.Name, '-')
	if at > 0 {
		name = name[:at]
	}
	return &observe.Object{Group: job.Group, Resource: "cronjobs", Kind: "CronJob", Namespace: job.Namespace, Name: name}
}

// describeDueStart says in a part of a sentence that a start was due.
func (p phrases) describeDueStart(s *dueStart) string {
	text := "a start of " + p.objectName(s.cronJob) + " was due"
	if s.replaces {
		text += " and its concurrencyPolicy is Replace"
	}
	return text
}
