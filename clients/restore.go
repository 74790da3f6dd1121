package clients

import (
	"slices"
	"time"
)

// NoteRestored notes that the state was restored, and that no client has written since a time before that. Nothing that a client
// had received or listed before then is the cause of a later write.
func (c *Clients) NoteRestored(since time.Time) {
	for _, cl := range c.sorted() {
		cl.forgetBefore(since)
	}
}

// forgetBefore forgets what may be the causes of writes, except for what came after a time.
func (cl *client) forgetBefore(at time.Time) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for _, w := range slices.Concat(cl.watches, cl.ended) {
		w.forgetBefore(at)
	}
	for i, l := range cl.lists {
		if l.answered.Before(at) {
			cl.lists[i] = list{}
		}
	}
	for i, r := range cl.runs {
		if r.cause != nil && r.cause.at.Before(at) {
			cl.runs[i] = startedRun{}
		}
	}
	clear(cl.failed)
}

func (w *watch) forgetBefore(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.list.answered.Before(at) {
		w.list, w.found = list{}, nil
	}
	kept := slices.Clone(w.eventsBetween(at, time.Now()))
	w.frames.recent.Add(int64(max(0, len(kept)-keptEvents) - max(0, len(w.events)-keptEvents)))
	w.events = kept
}
