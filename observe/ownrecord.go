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
