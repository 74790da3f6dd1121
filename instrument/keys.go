package instrument

import (
	"sync"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// dueDoubt is how far from the time when a delayed key is due another add may be such
	// that it is not certain which of the two queued the key.
	dueDoubt = 10 * time.Millisecond
	// maxNamedAdds is the number of adds that an event names: a handler may add thousands of keys.
	maxNamedAdds = 256
	// maxNamedLater is that of those which it adds with a delay.
	maxNamedLater = 64
	// maxWaiting is the number of waiting keys that a report names, and maxLookedAt that of those among
	// which it chooses: handlers and workers wait meanwhile.
	maxWaiting, maxLookedAt = 10, 1000
)

// keys follows the keys of one queue: which add queued each, and which sync took it.
type keys struct {
	mu      sync.Mutex
	queued  map[reconcile.Request]*pendingKey // those that a worker may take
	delayed delayedKeys
	running map[reconcile.Request]*syncRun
	// apart is set if a key may be queued and delayed, as in client-go's queue. In controller-runtime's own
	// one, each key has one add: that which is due first.
	apart bool

	numbers                   *numbers
	adds, gets, done, retries uint64
}

// numbers numbers what a process reports: its controllers may have the same name.
type numbers struct{ events, adds, syncs atomic.Uint64 }

// pendingKey is a key that was added and not taken.
type pendingKey struct {
	key     reconcile.Request
	number  uint64 // of the add; 0 while it is delayed
	by      work   // what added it
	added   time.Time
	limited bool        // its delay is that of the rate limiter, which has not said it yet
	due     time.Time   // zero = at once
	unsure  bool        // another add may have queued it
	earlier *pendingKey // delayed add that counts unless the rate limiter chooses an earlier time
	index   int         // in the order of delayed keys
}

// syncRun is a sync.
type syncRun struct {
	controller *controller
	id         uint64
	key        reconcile.Request
	began      time.Time
	from       *pendingKey // nil if the add is unknown
	requeued   bool        // it has added its own key again; the lock of the keys guards it
	err        string
	leave      func()
}

func newKeys(n *numbers) *keys {
	return &keys{numbers: n, queued: map[reconcile.Request]*pendingKey{}, delayed: newDelayedKeys(), running: map[reconcile.Request]*syncRun{}}
}

// keepApart is called if the queue keeps delayed adds of a key apart from that which has queued it.
func (k *keys) keepApart() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.apart = true
}

// forget forgets the keys that were not taken.
func (k *keys) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queued, k.delayed = map[reconcile.Request]*pendingKey{}, newDelayedKeys()
}

// isDelayed reports whether the key waits for its time.
func (p *pendingKey) isDelayed(now time.Time) bool { return p.limited || p.due.After(now) }

// isDueSoon reports whether the queue may have added the delayed key already.
func (p *pendingKey) isDueSoon(now time.Time) bool {
	return !p.due.IsZero() && p.due.Sub(now) < dueDoubt
}

// add notes that a key is added: at once, after a delay, or after that of the rate limiter.
func (k *keys) add(key reconcile.Request, by work, after time.Duration, limited bool) {
	now := time.Now()
	added := &pendingKey{key: key, by: by, added: now, limited: limited}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queueDue(now)
	if s := by.sync; s != nil && k.running[key] == s {
		s.requeued = true
	}
	if !limited && after <= 0 {
		k.addNow(added)
		return
	}
	k.retries++
	if after > 0 {
		added.due = now.Add(after)
	}
	counts, e := k.addDelayed(added), by.event
	switch {
	case e == nil:
	case counts && after > 0 && len(e.later) < maxNamedLater:
		e.later = append(e.later, added.due)
	default:
		e.delays = true
	}
}

// addNow notes that a key is queued, if it is not queued already.
func (k *keys) addNow(added *pendingKey) {
	if before := k.queued[added.key]; before != nil {
		before.noteOther(added.added)
		return
	}
	if before := k.delayed.of[added.key]; before != nil {
		added.unsure = before.isDueSoon(added.added)
		if !k.apart {
			k.delayed.remove(before)
		}
	}
	k.queued[added.key] = added
	k.count(added)
}

// addDelayed notes that a key is to be queued later, and returns whether this add counts: not one behind
// another that is due earlier, nor that of a key which is queued already.
func (k *keys) addDelayed(added *pendingKey) bool {
	if before := k.queued[added.key]; before != nil && !k.apart {
		before.noteOther(added.added)
		return false
	}
	k.endUnknownDelay(added.key)
	before := k.delayed.of[added.key]
	switch {
	case before == nil:
	case before.limited:
		before.noteEarlier(added)
		return false
	case !added.limited && !added.due.Before(before.due):
		return false
	default:
		added.unsure = before.isDueSoon(added.added)
		if added.limited {
			added.noteEarlier(before)
		}
	}
	k.delayed.set(added)
	return true
}

// endUnknownDelay forgets a delay that is still unknown in a later sync of the key: it may have ended while the key
// was queued.
func (k *keys) endUnknownDelay(key reconcile.Request) {
	s, p := k.running[key], k.delayed.of[key]
	if s == nil || p == nil || !p.limited || !p.added.Before(s.began) {
		return
	}
	k.delayed.remove(p)
	if e := p.earlier; e != nil && e.due.After(s.began) {
		k.delayed.set(e)
	}
}

// noteOther notes another add of a key that is queued. One that has just become due may be queued by either.
func (p *pendingKey) noteOther(now time.Time) {
	if !p.due.IsZero() && now.Sub(p.due) < dueDoubt {
		p.unsure = true
	}
}

// queueDue notes that the delayed keys whose time has come are queued.
func (k *keys) queueDue(now time.Time) {
	for p := k.delayed.first(); p != nil && !p.isDelayed(now); p = k.delayed.first() {
		k.delayed.remove(p)
		if k.queued[p.key] == nil {
			k.queued[p.key] = p
		}
	}
}

// noteEarlier notes another delayed add of the key, while the rate limiter has not said when p is due.
func (p *pendingKey) noteEarlier(other *pendingKey) {
	if !other.due.IsZero() && (p.due.IsZero() || other.due.Before(p.due)) {
		p.due, p.earlier = other.due, other
	}
}

// count numbers the add of a key that is now queued.
func (k *keys) count(p *pendingKey) {
	k.adds++
	p.number = k.numbers.adds.Add(1)
	if e := p.by.event; e != nil && len(e.adds) < maxNamedAdds {
		e.adds = append(e.adds, p.number)
	}
}

// limit notes the delay that the rate limiter has chosen for a key.
func (k *keys) limit(key reconcile.Request, delay time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.delayed.of[key]
	if p == nil || !p.limited {
		return
	}
	p.limited = false
	if due := p.added.Add(delay); p.due.IsZero() || due.Before(p.due) {
		p.due = due
	} else if e := p.earlier; e != nil {
		p.by, p.added, p.unsure = e.by, e.added, e.unsure
	}
	p.earlier = nil
	k.delayed.moved(p)
}

// take notes that a worker takes a key.
func (k *keys) take(c *controller, key reconcile.Request) *syncRun {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gets++
	s := &syncRun{controller: c, id: k.numbers.syncs.Add(1), key: key, began: time.Now()}
	s.from = k.remove(key, s.began)
	switch {
	case s.from == nil: // it was added while a worker took it: that add was counted as a repeated one
		k.adds++
	case s.from.number == 0:
		k.adds++
		s.from.number = k.numbers.adds.Add(1)
		s.from.unsure = s.from.unsure || s.from.isDelayed(s.began)
	}
	k.running[key] = s
	return s
}

// remove removes a key that is taken, and returns it; nil if it is not known that it was added.
func (k *keys) remove(key reconcile.Request, now time.Time) *pendingKey {
	k.queueDue(now)
	p := k.queued[key]
	delete(k.queued, key)
	// A delay that is still unknown is that of a rate limiter which is not observed: this was its end.
	if before := k.delayed.of[key]; p == nil && before != nil && (!k.apart || before.limited) {
		k.delayed.remove(before)
		p = before
	}
	return p
}

// end notes that a worker is done with a key. If the sync has added it again, next is the
// add that counts: another one may be due earlier.
func (k *keys) end(key reconcile.Request) (s *syncRun, next *pendingKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s = k.running[key]; s == nil {
		return nil, nil
	}
	k.done++
	delete(k.running, key)
	if s.requeued {
		if next = k.queued[key]; next == nil {
			next = k.delayed.of[key]
		}
	}
	return s, next
}

func (k *keys) runningSync(key reconcile.Request) *syncRun {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.running[key]
}

// waited returns how long the key was queued when the sync began.
func (s *syncRun) waited() time.Duration {
	from := s.from.added
	if s.from.due.After(from) {
		from = s.from.due
	}
	return max(s.began.Sub(from), 0)
}

// addTo adds the numbers to a report.
func (k *keys) addTo(r *controllerReport) {
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	r.InFlight, r.Adds, r.Gets, r.Done, r.Retries = len(k.running), k.adds, k.gets, k.done, k.retries
	k.queueDue(now)
	r.Delayed = len(k.delayed.of)
	if p := k.delayed.first(); p != nil && !p.limited {
		r.NextDue = p.due
	}
	looked := 0
	for _, p := range k.queued {
		if looked++; looked > maxLookedAt || len(r.Waiting) == maxWaiting {
			return
		}
		if p.by.event != nil {
			r.Waiting = append(r.Waiting, p.by.event.id)
		}
	}
}

// requestKey returns NAMESPACE/NAME, or NAME for an object without a namespace.
func requestKey(r reconcile.Request) string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}
