package observe

import "time"

// What a controller does makes tens of thousands of records, and the garbage collector visits
// each object that is kept. So such a record, its event and the lists of the event that usually have one
// entry are one object.

type deliveredRecord struct {
	Record
	event Delivered
	queue [1]string
	add   [1]uint64
	room  idleDelivery // what idle of the record points to, if it is set
}

type calledRecord struct {
	Record
	event Called
	wrote [1]Written
}

type syncedRecord struct {
	Record
	event Synced
}

type loggedRecord struct {
	Record
	event Logged
}

func newDeliveredRecord(d *Delivered) *deliveredRecord {
	r := &deliveredRecord{event: *d}
	r.Event = &r.event
	return r
}

func newCalledRecord(c *Called) *calledRecord {
	r := &calledRecord{event: *c}
	r.Event = &r.event
	r.setWrote(c.Wrote)
	return r
}

func (r *calledRecord) setWrote(wrote []Written) {
	if r.event.Wrote = wrote; len(wrote) == 1 {
		r.wrote[0] = wrote[0]
		r.wrote[0].shareStrings(&r.event)
		r.event.Wrote = r.wrote[:]
	}
}

// shareStrings replaces strings that the call has, too: those of the storage are parts of longer ones.
func (w *Written) shareStrings(c *Called) {
	for _, s := range []struct{ mine, other *string }{
		{&w.Namespace, &c.Object.Namespace}, {&w.Name, &c.Object.Name}, {&w.ResourceVersion, &c.ResourceVersion},
	} {
		if *s.mine == *s.other {
			*s.mine = *s.other
		}
	}
}

func newSyncedRecord(s *Synced, now time.Time) *Record {
	r := &syncedRecord{event: *s}
	r.Time, r.Event = now, &r.event
	return &r.Record
}

func newLoggedRecord(l *Logged, now time.Time) *Record {
	r := &loggedRecord{event: *l}
	r.Time, r.Event = now, &r.event
	return &r.Record
}
