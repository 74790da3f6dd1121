package clients

import (
	"cmp"
	"net/http"
	"slices"
	"sync"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// eventCollector collects the events that may be the reason of a write. Of what several watches were sent at about the same
// time only the first one counts.
type eventCollector struct {
	relatives                             // of the write
	watched              map[string]int   // how many watches a resource has
	sent                 map[sentOnce]int // → the index in the events of the write
	related, ofNamespace eventIndexes
}

// sentOnce is what several watches may be sent.
type sentOnce struct {
	*sentEvent
	listed bool
}

// collectEvents adds the watches whose events may be the reason of a write, and the recent events that the client had received
// from them when it sent the write.
func (cl *client) collectEvents(r *request, w *write) {
	var isKnown bool
	if w.watches, isKnown = cl.watchesOf(r, w); !isKnown || len(w.watches) == 0 {
		if unopened := cl.unopenedWatches(r, w); len(unopened) > 0 {
			w.watches, isKnown = unopened, true
			w.neverWatched = !cl.hasWatched() && len(r.conn.watchersOf(cl)) == 0
		}
	}
	if !isKnown || w.isWorkers {
		w.runs, w.repeated = nil, failedWrite{}
	}
	if !isKnown {
		return
	}
	if r.call.Status != http.StatusConflict || r.call.IsInjected() {
		w.completeUnsent(r.hasSentObject())
	}
	c := &eventCollector{relatives: w.newRelatives(), watched: map[string]int{}, sent: map[sentOnce]int{}}
	for _, from := range w.watches {
		c.watched[from.Resource]++
	}
	for _, from := range w.watches {
		c.addFrom(from, r.kinds)
	}
	w.related, w.ofNamespace = c.related.of(w.events), c.ofNamespace.of(w.events)
}

// addFrom adds the recent events of a watch.
func (c *eventCollector) addFrom(from *watch, kinds *sync.Map) {
	isShared := c.watched[from.Resource] > 1
	from.mu.Lock()
	defer from.mu.Unlock()
	recent := from.eventsBetween(c.oldest, c.began)
	c.events = slices.Grow(c.events, len(recent))
	for i := range recent {
		e := &recent[i]
		if c.isWorkers && !e.isOf(c.object) && !isOwner(c.write.owners, e.uid) {
			continue
		}
		if !isShared || !c.mergeSent(e, from) {
			c.add(e.event, c.mayInclude(e), e.traits.name == c.namespace)
		}
	}
	if !c.isWorkers {
		for _, e := range from.foundFor(c.write, kinds) {
			c.add(e, true, true)
		}
	}
	c.lost = later(c.lost, from.lost)
}

// add adds an event. What it may be is only what a look at its traits says.
func (c *eventCollector) add(e *event, mayBeRelated, mayBeNamespace bool) {
	if mayBeRelated && c.isRelatedTo(e) {
		c.related = append(c.related, len(c.events))
	}
	if mayBeNamespace && c.isNamespace(e) {
		c.ofNamespace = append(c.ofNamespace, len(c.events))
	}
	c.events = append(c.events, e)
}

// mergeSent reports whether another watch was sent the same at about the same time. The earlier of both events remains.
func (c *eventCollector) mergeSent(e *slot, from *watch) bool {
	once := sentOnce{e.sent, e.listed}
	i, found := c.sent[once]
	if !found || from.Since.After(c.events[i].at) || c.events[i].opened.After(e.at) {
		c.sent[once] = len(c.events) // where it is added
		return false
	}
	if e.at.Before(c.events[i].at) {
		c.events[i] = e.event
	}
	return true
}

// completeUnsent adds what relates other objects to the written one, from its last version that the client has received: neither
// the answer to a refused patch or deletion nor what was sent has that.
func (w *write) completeUnsent(sent bool) {
	if !w.failed || !w.existed || len(w.owners) > 0 || w.object.Name == "" {
		return
	}
	last := w.lastEvent(w.began, func(e *event) bool { return e.isOf(w.object) && e.change != observe.Deleted })
	if last == nil {
		return
	}
	for _, o := range last.owners {
		w.owners = append(w.owners, recording.OwnerReference{Name: o.mentioned.object, UID: o.uid})
	}
	w.object.UID = cmp.Or(w.object.UID, last.uid)
	if !sent {
		w.names.Mentions = last.names
	}
}
