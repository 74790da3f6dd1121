package trace

import (
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

const cronJobController = "cronjob-controller"

// dueStart is the start of a CronJob for which its controller has created a Job, or has deleted the one before.
type dueStart struct {
	cronJob  *observe.Object
	replaces bool
}

// noteDueStarts notes which Jobs were created or replaced in a sync that a timer has queued: the start of their CronJob was due, and
// the last event that led to that timer is not the reason. A Job that is deleted before the next one is created is replaced;
// those beyond the limits of the history are deleted after that.
func (g *graph) noteDueStarts() {
	starts := map[*Node]*Node{} // by sync, the first creation
	for _, c := range g.calls {
		if s := c.scheduledSync(); s != nil && c.Verb == "create" && starts[s] == nil {
			starts[s] = c
			c.start = &dueStart{cronJob: cronJobOf(c.Object)}
		}
	}
	for _, c := range g.calls {
		if start := starts[c.scheduledSync()]; start != nil && c.Verb == "delete" && c.Time.Before(start.Time) {
			c.start = &dueStart{cronJob: start.start.cronJob, replaces: true}
		}
	}
}

// scheduledSync returns the sync of the CronJob controller that has written a Job, if a timer has queued its key; else nil.
func (n *Node) scheduledSync() *Node {
	s := n.causedBy
	if n.Controller != cronJobController || n.Object.Resource != "jobs" || n.Subresource != "" || s == nil || s.Kind != Sync || s.Cause == nil {
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
