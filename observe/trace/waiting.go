package trace

import (
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// queuedKey is the last add of an object's key to a queue by the handler of an event of the object.
type queuedKey struct {
	at  time.Time // when the handler began
	add uint64
}

// waitingSince returns the queues in which the key of an object most likely waits, and since when. A queue does
// not expose its keys, and a snapshot lists the objects of ten of them at most. So it follows from the records: an
// event of the object has added its key, and no sync has taken it.
func waitingSince(now observe.Snapshot, records []observe.Record, about observe.Object) map[queueName]time.Time {
	last := lastAdds(records, about)
	if len(last) == 0 {
		return nil
	}
	for i := range records {
		if s, ok := records[i].Event.(*observe.Synced); ok {
			q := queueName{s.Controller, s.Queue}
			if k, ok := last[q]; ok && k.isTakenBy(s, records[i].Time, about.Key()) {
				delete(last, q)
			}
		}
	}
	for _, c := range now.Controllers {
		for _, r := range c.Running {
			q := queueName{c.Name, r.Queue}
			if r.Key == about.Key() || r.Key == "" && !r.Since.Before(last[q].at) {
				delete(last, q)
			}
		}
	}
	since := map[queueName]time.Time{}
	for q, k := range last {
		if hasKeysOf(now, records, q, about) && isObjectKey(records, q.controller, q.queue, about.Key(), about) {
			since[q] = k.at
		}
	}
	return since
}

// lastAdds returns the last adds by events of an object.
func lastAdds(records []observe.Record, about observe.Object) map[queueName]queuedKey {
	last := map[queueName]queuedKey{}
	for i := range records {
		d, ok := records[i].Event.(*observe.Delivered)
		if !ok || d.Object.Name != about.Name || !d.Object.Same(about) {
			continue
		}
		for n, add := range d.Adds {
			last[queueName{d.Controller, d.Queues[n]}] = queuedKey{records[i].Time.Add(-d.Took), add}
		}
	}
	return last
}

// isTakenBy reports whether a sync that has ended may have taken the key. A restarted controller counts adds from
// 1 again.
func (k queuedKey) isTakenBy(s *observe.Synced, end time.Time, key string) bool {
	switch {
	case s.Key == key && !end.Add(-s.Took).Before(k.at):
		return true
	case s.Add == 0 || end.Before(k.at):
		return false
	case s.LastAdd == 0:
		return s.Add == k.add
	}
	return s.Add <= k.add && k.add <= s.LastAdd && (s.Key == key || !s.KeyBasis.Certain())
}

// hasKeysOf reports whether the events of an object's kind add the keys of their objects to a queue, and not those
// of their owners: the queue has the name of the kind, or a sync of one of these keys is known.
func hasKeysOf(now observe.Snapshot, records []observe.Record, q queueName, about observe.Object) bool {
	if isNamedAfter(q.controller, q.queue, about) {
		return true
	}
	synced := syncedKeys(now, records, q)
	for i := range records {
		d, ok := records[i].Event.(*observe.Delivered)
		if ok && d.Controller == q.controller && d.Object.Resource == about.Resource && d.Object.Group == about.Group &&
			synced[d.Object.Key()] && queuedIn(d, q.queue) {
			return true
		}
	}
	return false
}

// syncedKeys returns the keys of a queue whose syncs are known.
func syncedKeys(now observe.Snapshot, records []observe.Record, q queueName) map[string]bool {
	keys := map[string]bool{}
	for i := range records {
		if s, ok := records[i].Event.(*observe.Synced); ok && s.Controller == q.controller && s.Queue == q.queue && s.KeyBasis.Certain() {
			keys[s.Key] = true
		}
	}
	for _, c := range now.Controllers {
		for _, r := range c.Running {
			if c.Name == q.controller && r.Queue == q.queue && r.KeyBasis.Certain() {
				keys[r.Key] = true
			}
		}
	}
	return keys
}
