package observe

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// history keeps the causes of what exists, however long ago that was: the records that
// lead to the creation and to the last change of each object. The journal's rings drop
// their oldest records whatever these are about. The causes of an object are forgotten
// when it is deleted, and the memory is bounded by the number of objects and by the
// length of a chain.
//
// A goroutine of the observer reads the journal, so that no controller waits for it. What
// causes what is decided by package trace; history follows the same references, but only
// decides what may be needed for that.
type history struct {
	journal *journal
	most    int // objects

	mu      sync.Mutex // for the reader of the journal and for queries
	next    uint64     // Seq of the last record that was read
	objects map[storedObject]*objectHistory
	order   []seenObject // by the time when they were first seen; some are gone
	count   uint64       // of the objects that were seen
	removed []*removal   // in the order of their events; some objects exist after all

	seen     *Delivered // the last event: others who have received it add nothing
	reported bool       // the storage has reported what a call has written
	room     [1]Written // for the call that is read

	recent  [recentSyncs]*Record          // syncs by ID
	running map[uint64]*causeNode         // syncs that have made writes and have not ended
	delays  map[historyQueue][]*delayNode // that keys were added with, by queue
	swept   time.Time                     // when past delays were forgotten last
}

const (
	// recentSyncs is how many syncs are kept to find the one that added a key.
	recentSyncs = 8192
	// maxDelays is how many delayed keys of a queue are kept.
	maxDelays = 64
	// maxPastDelay is how long ago a delay may have ended that explains a sync: its key may have been queued for long.
	maxPastDelay = 10 * time.Minute
	// maxTimedCauses is how many delays are kept of those that may have queued a key.
	maxTimedCauses = 3
	// maxRunning bounds the syncs without a recorded end.
	maxRunning = 4096
)

type storedObject struct{ resource, namespace, name string }

func placeOf(o *Object) storedObject { return storedObject{o.GroupResource(), o.Namespace, o.Name} }

// seenObject is an object and the number of its history: one that was deleted and created again has another.
type seenObject struct {
	storedObject
	number uint64
}

type historyQueue struct{ controller, queue string }

type delayNode struct {
	due time.Time
	by  *Record
}

func newHistory(j *journal, most int) *history {
	return &history{
		journal: j, most: most, objects: map[storedObject]*objectHistory{},
		running: map[uint64]*causeNode{}, delays: map[historyQueue][]*delayNode{}, seen: &Delivered{},
	}
}

// advance reads what was recorded since the last time.
func (h *history) advance() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = h.journal.each(h.next, h.read)
	h.forgetLongRemoved(time.Now())
}

func (h *history) read(r *Record) {
	switch e := r.Event.(type) {
	case *callEntry:
		if e.kind.hasHistory() {
			c := e.called(r.Time, &h.room)
			h.readCall(r, &c)
		}
	case *Called:
		h.readCall(r, e)
	case *Delivered:
		h.readEvent(r, e)
	case *Synced:
		h.readSync(r, e)
	}
}

// hasHistory reports whether readCall may need a call of a kind: to find out takes less time than to read the call.
func (k *callKind) hasHistory() bool {
	return !IsRead(k.verb) && !(Object{Group: k.group, Resource: k.resource}).IsRoutine()
}

func (h *history) readCall(r *Record, c *Called) {
	if !c.IsWrite() || c.IsRoutine() || c.Failed() && len(c.Wrote) == 0 {
		return
	}
	wrote := c.Wrote
	h.reported = h.reported || c.ReportsWrites()
	if wrote == nil && h.reported {
		return // it had no effect, and its version is another call's
	}
	if wrote == nil && c.ResourceVersion != "" { // the storage does not report
		wrote = []Written{{Resource: c.Object.GroupResource(), Namespace: c.Object.Namespace, Name: c.Object.Name, ResourceVersion: c.ResourceVersion}}
	}
	madeBy := h.syncOf(c)
	var event *causeNode
	if e := h.journal.find(c.Cause); e != nil {
		event = h.eventNode(e) // before a version is added: that may be the place of another one
	}
	var n *causeNode // of the call
	for _, w := range wrote {
		at := storedObject{w.Resource, w.Namespace, w.Name}
		if w.Deleted {
			delete(h.objects, at)
			continue
		}
		o := h.object(at)
		v := o.version(w.ResourceVersion)
		if n == nil {
			n = v.newNode(r)
			n.addCause(madeBy)
			if n.addCause(event); event != nil {
				n.cutChain()
			}
		}
		v.call, v.seen = n, nil
		o.change(v, Creates(c.Verb, c.Subresource, c.Status))
	}
}

// syncOf returns the node of the sync that made a call.
func (h *history) syncOf(c *Called) *causeNode {
	id := c.Sync
	if id == 0 {
		id = c.AfterSync
	}
	if id == 0 {
		return nil
	}
	if ended := h.recent[id%recentSyncs]; ended != nil && ended.Event.(*Synced).ID == id {
		return h.syncNode(ended, 0)
	}
	s := h.running[id]
	if s == nil {
		if len(h.running) >= maxRunning {
			clear(h.running)
		}
		s = &causeNode{}
		h.running[id] = s
	}
	return s
}

func (h *history) readEvent(r *Record, d *Delivered) {
	if d.Change == Resynced || d.Change == Listed || d.Object.IsRoutine() {
		return
	}
	switch {
	case d.Change == Deleted:
		h.readDeletion(placeOf(&d.Object), r, d)
	case !d.isSameEvent(h.seen):
		o := h.object(placeOf(&d.Object))
		if v := o.find(d.ResourceVersion); v == nil {
			v = o.version(d.ResourceVersion)
			v.seen = v.newNode(r)
			o.change(v, d.Change == Added && o.created == nil)
		}
		h.seen = d
	}
	for _, l := range d.Later {
		h.addDelay(historyQueue{d.Controller, l.Queue}, l.Due, r)
	}
}

func (h *history) readSync(r *Record, s *Synced) {
	h.recent[s.ID%recentSyncs] = r
	if !s.Due.IsZero() {
		h.addDelay(historyQueue{s.Controller, s.Queue}, s.Due, r)
	}
	if n := h.running[s.ID]; n != nil {
		delete(h.running, s.ID)
		h.completeSync(n, r, 0)
		n.cutChain()
	}
}

// syncNode returns the node of a sync that has ended.
func (h *history) syncNode(r *Record, depth int) *causeNode {
	n := &causeNode{}
	h.completeSync(n, r, depth)
	return n
}

// maxSyncs is how many syncs that added the keys of each other are followed.
const maxSyncs = 4

// completeSync sets the record and the causes of a sync.
func (h *history) completeSync(n *causeNode, r *Record, depth int) {
	s := r.Event.(*Synced)
	n.record = r
	if depth == maxSyncs {
		return
	}
	if e := h.journal.find(s.Cause); e != nil {
		n.addCause(h.eventNode(e))
	}
	if s.CauseSync != 0 {
		if by := h.recent[s.CauseSync%recentSyncs]; by != nil && by.Event.(*Synced).ID == s.CauseSync {
			n.addCause(h.syncNode(by, depth+1))
		}
	}
	if s.Timed {
		h.addTimedCauses(n, r, depth)
	}
}

// addTimedCauses adds the delays that may have ended when the key of a sync was added.
func (h *history) addTimedCauses(n *causeNode, r *Record, depth int) {
	const late = 100 * time.Millisecond
	s := r.Event.(*Synced)
	added := r.Time.Add(-s.Took - s.Waited)
	left := maxTimedCauses
	if depth > 0 {
		left = 1
	}
	for _, d := range slices.Backward(h.delays[historyQueue{s.Controller, s.Queue}]) {
		if left == 0 {
			return
		}
		if d.due.After(added.Add(time.Millisecond)) || added.After(d.due.Add(late)) || d.by == r {
			continue
		}
		switch by := d.by.Event.(type) {
		case *Delivered:
			n.addCause(h.eventNode(d.by))
			left--
		case *Synced:
			if by.Key == s.Key || by.Key == "" || s.Key == "" {
				n.addCause(h.syncNode(d.by, depth+1))
				left--
			}
		}
	}
}

// eventNode returns the node of an event.
func (h *history) eventNode(r *Record) *causeNode {
	d, ok := r.Event.(*Delivered)
	if !ok {
		return nil
	}
	n := &causeNode{record: r}
	if o := h.objects[placeOf(&d.Object)]; o != nil {
		n.version = o.find(d.ResourceVersion)
	}
	return n
}

func (h *history) addDelay(q historyQueue, due time.Time, by *Record) {
	list := append(h.delays[q], &delayNode{due, by})
	if over := len(list) - maxDelays; over > 0 {
		list = slices.Delete(list, 0, over)
	}
	h.delays[q] = list
	if past := by.Time.Add(-maxPastDelay); h.swept.Before(past) {
		h.swept = by.Time
		h.forgetDelays(func(q historyQueue) bool {
			return !slices.ContainsFunc(h.delays[q], func(d *delayNode) bool { return d.due.After(past) })
		})
	}
}

// forgetDelays forgets the delays of the queues that a filter selects.
func (h *history) forgetDelays(which func(historyQueue) bool) {
	maps.DeleteFunc(h.delays, func(q historyQueue, _ []*delayNode) bool { return which(q) })
}

// forgetController forgets what explains later syncs of a controller that was removed.
func (h *history) forgetController(name string) {
	h.advance()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forgetDelays(func(q historyQueue) bool { return q.controller == name })
}

// object returns the history of an object that exists.
func (h *history) object(at storedObject) *objectHistory {
	o := h.objects[at]
	if o == nil {
		h.count++
		o = &objectHistory{number: h.count}
		h.objects[at] = o
		h.order = append(h.order, seenObject{at, h.count})
		for len(h.objects) > h.most && len(h.removed) > 0 {
			h.forgetRemoved()
		}
		for len(h.objects) > h.most {
			if oldest := h.order[0]; h.exists(oldest) {
				delete(h.objects, oldest.storedObject)
			}
			h.order = h.order[1:]
		}
		if len(h.order) > 2*h.most {
			h.order = slices.DeleteFunc(slices.Clone(h.order), func(a seenObject) bool { return !h.exists(a) })
		}
	}
	return o
}

func (h *history) exists(a seenObject) bool {
	o := h.objects[a.storedObject]
	return o != nil && o.number == a.number
}

// change notes a version of the object.
func (o *objectHistory) change(v *versionNode, created bool) {
	if created {
		o.created = v
	}
	o.changed = v
	o.noteExisting(v)
}

// recordsBefore returns the records before a position of the journal that lead to what
// exists, in order.
func (h *history) recordsBefore(position uint64) (list []*Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := map[*causeNode]bool{}
	found := map[*Record]bool{}
	var visit func(*causeNode)
	visit = func(n *causeNode) {
		for n != nil && !seen[n] {
			seen[n] = true
			if r := n.record; r != nil && r.Seq <= position && !found[r] {
				found[r] = true
				list = append(list, r)
			}
			for _, c := range n.causes {
				visit(c)
			}
			n = n.version.origin()
		}
	}
	for _, o := range h.objects {
		visit(o.created.origin())
		visit(o.changed.origin())
	}
	slices.SortFunc(list, func(a, b *Record) int { return cmp.Compare(a.Seq, b.Seq) })
	return list
}

// run reads the journal until the context ends: regularly, and before it drops what was
// not read.
func (h *history) run(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		h.advance()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-h.journal.filling:
		}
	}
}
