package clients

import (
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// applyRecord records one record of a report. It skips those of controllers that the
// report does not list.
func (s *session) applyRecord(r *ReportedRecord, controllers map[string]*reportedController, now time.Time) {
	switch {
	case r.Event != nil:
		if c := controllers[r.Event.Controller]; c != nil {
			s.applyEvent(c, r.Event, now)
		}
	case r.Began != nil:
		if c := controllers[r.Began.Controller]; c != nil {
			s.applyBegin(c, r.Began, now)
		}
	case r.Ended != nil:
		if c := controllers[r.Ended.Controller]; c != nil {
			s.applyEnd(c, r.Ended, now)
		}
	}
}

var reportedChanges = map[string]observe.Change{
	"listed": observe.Listed, "added": observe.Added, "updated": observe.Updated, "resynced": observe.Resynced, "deleted": observe.Deleted,
}

func (s *session) applyEvent(c *reportedController, e *ReportedEvent, now time.Time) {
	change := reportedChanges[e.Change]
	if change == "" || e.ID == 0 {
		return
	}
	took := min(max(e.Took, 0), maxAge)
	at := s.time(e.Time.Add(took), now)
	d := &observe.Delivered{
		Change: change, ResourceVersion: shortText(e.ResourceVersion), Deleting: e.Deleting, Delays: e.Delays, Took: took, Adds: slices.Clone(e.Adds),
		Object: observe.Object{
			Group: shortText(e.Group), Resource: shortText(e.Resource), Kind: shortText(e.Kind),
			Namespace: shortText(e.Namespace), Name: shortText(e.Name), UID: shortText(e.UID),
		},
	}
	if n := len(e.Adds); n > 0 {
		d.Queues = c.queues[:n:n]
	}
	for _, due := range e.Later {
		d.Later = append(d.Later, observe.DelayedKey{Queue: c.shortName, Due: s.due(due, now)})
	}
	seq := c.recordEvent(d, at)
	s.events[e.ID%keptReportedEvents] = reportedEvent{e.ID, seq}
}

// shortText returns a text of a report without control characters and not longer than a
// name.
func shortText(text string) string { return printable(text, maxName) }

func (s *session) applyBegin(c *reportedController, b *ReportedBegin, now time.Time) {
	sync := s.sync(c, syncRef{c.shortName, b.ID})
	if !sync.began {
		sync.began, sync.key, sync.at = true, printable(b.Key, maxKey), s.time(b.Time, now)
		c.queue.Begin(sync.id, sync.key, sync.at)
	}
}

func (s *session) applyEnd(c *reportedController, e *ReportedEnd, now time.Time) {
	sync := s.sync(c, syncRef{c.shortName, e.ID})
	if sync.ended {
		return
	}
	sync.began, sync.ended = true, true
	took := min(max(e.Took, 0), maxAge)
	v := &observe.Synced{
		ID: sync.id, Key: printable(e.Key, maxKey), KeyBasis: observe.BasisQueue, Add: e.Add,
		Waited: min(max(e.Waited, 0), maxAge), Took: took, Retried: e.Requeued, Error: recording.SyncError(e.Error),
		Reads: sync.reads, Writes: sync.writes,
	}
	if e.Requeued {
		v.Due = s.due(e.Due, now)
	}
	if e.Event != 0 {
		v.Cause = s.event(e.Event)
	}
	if by := s.syncs[syncRef{c.shortName, e.Sync}]; by != nil && e.Sync != 0 && by != sync {
		v.CauseSync = by.id
	}
	v.Sure = e.Add != 0 && !e.Unsure && (v.Cause != 0 || v.CauseSync != 0)
	c.queue.End(v, s.time(e.Time.Add(took), now))
}
