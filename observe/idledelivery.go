package observe

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Most handlers do nothing with most events: the event of a new Pod is delivered to some twenty
// controllers, and three of them add a key. Those that do nothing share one record.

const (
	// idleShareTime is how long after the first delivery of an event others share its record.
	idleShareTime = time.Second
	// maxSharedHandlerTime is how long a handler may take whose time is not recorded.
	maxSharedHandlerTime = time.Millisecond
)

// idleDelivery collects the other controllers of a Delivered. Once the record was read,
// it does not change any more.
type idleDelivery struct {
	observer *Observer
	mu       sync.Mutex // held for nanoseconds
	isRead   bool
	count    uint8
	alsoTo   [maxAlsoTo]uint8 // the numbers of their recorders: pointers take more memory
}

const (
	// maxAlsoTo is how many other controllers a record has. About twenty receive the events of Pods.
	maxAlsoTo = 22
	// maxNumbered is how many recorders have a number. Those of the built-in controllers are the first.
	maxNumbered = 256
)

// add adds a controller, unless the record was read, has it, or is full.
func (i *idleDelivery) add(r *Recorder) bool {
	if r.number == maxNumbered {
		return false
	}
	n := uint8(r.number) //nolint:gosec // less than maxNumbered
	i.mu.Lock()
	added := !i.isRead && i.count < maxAlsoTo && !slices.Contains(i.alsoTo[:i.count], n)
	if added {
		i.alsoTo[i.count] = n
		i.count++
	}
	i.mu.Unlock()
	return added
}

// read returns the controllers.
func (i *idleDelivery) read() (names []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.isRead = true
	for _, n := range i.alsoTo[:i.count] {
		names = append(names, i.observer.names[n])
	}
	return names
}

// forReader returns the record as it is from now on.
func (r *Record) forReader() Record {
	read := *r
	if e, ok := r.Event.(*callEntry); ok {
		read.Event = e.forReader(r.Time)
	}
	if r.idle != nil {
		d := *r.Event.(*Delivered)
		d.AlsoTo = r.idle.read()
		read.Event, read.idle = &d, nil
	}
	return read
}

// wasDeliveredTo reports whether the record is of an event that a controller has received.
func (r *Record) wasDeliveredTo(controller string) bool {
	d, ok := r.Event.(*Delivered)
	return ok && (d.Controller == controller || slices.Contains(d.AlsoTo, controller))
}

// only returns the record with one of the controllers that have received its event. How long the handlers of the
// others took was not recorded.
func (r *Record) only(controller string) Record {
	one := *r
	one.idle = nil
	if d, ok := r.Event.(*Delivered); ok && (d.Controller != controller || d.AlsoTo != nil) {
		of := *d
		of.AlsoTo = nil
		if of.Controller != controller {
			of.Controller, of.Took = controller, 0
		}
		one.Event = &of
	}
	return one
}

// isSameEvent reports whether two handlers have received the same event.
func (d *Delivered) isSameEvent(e *Delivered) bool {
	return d.ResourceVersion == e.ResourceVersion && d.Change == e.Change && d.Object == e.Object &&
		d.Deleting == e.Deleting && d.Became == e.Became && d.Unchanged == e.Unchanged && d.TakenBy == e.TakenBy && d.NoExecute.equal(e.NoExecute)
}

// idleDeliveries finds the records of the last events with which handlers did nothing. Readers
// and writers take no lock: what is lost to another event costs one record more.
type idleDeliveries struct {
	within, handlerTime time.Duration // see idleShareTime and maxSharedHandlerTime
	slots               [256]atomic.Pointer[Record]
}

var versionSeed = maphash.MakeSeed()

func (s *idleDeliveries) slot(version string) *atomic.Pointer[Record] {
	return &s.slots[maphash.String(versionSeed, version)%uint64(len(s.slots))]
}

// find returns the record of the same event, with which another handler did nothing; nil if there is none.
func (s *idleDeliveries) find(d *Delivered, now time.Time) *Record {
	if d.ResourceVersion == "" { // of no certain version
		return nil
	}
	r := s.slot(d.ResourceVersion).Load()
	if r == nil || now.Sub(r.Time) > s.within || !r.Event.(*Delivered).isSameEvent(d) {
		return nil
	}
	return r
}

// put adds the record of an event with which a handler did nothing. It has a version.
func (s *idleDeliveries) put(r *Record) { s.slot(r.Event.(*Delivered).ResourceVersion).Store(r) }

// canShare reports whether a handler that has received the event of a record, and did nothing from one
// time to another, may be added to the record.
func (o *Observer) canShare(r *Record, by *Recorder, from, to time.Time) bool {
	return r.Event.(*Delivered).Controller != by.name && to.Sub(from) <= o.idle.handlerTime &&
		to.Sub(r.Time) <= o.idle.within && o.journal.all.holds(r)
}
