package reconciler

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/clients"
)

// maxRecords is the number of records that are kept until they are sent.
const maxRecords = 4096

// keys follows each key from the event that adds it to the end of its sync, and keeps the
// records of that until they are sent.
type keys struct {
	mu      sync.Mutex
	waiting map[string]added // keys in the queue
	delayed map[string]added // keys that a failed sync has added with a delay
	lastIDs map[string]uint64
	running map[uint64]*clients.ReportedEnd

	numbers clients.QueueReport
	events  uint64
	syncs   uint64
	records []clients.ReportedRecord
	dropped int64
}

// added is how a key was added: by an event or by a failed sync.
type added struct {
	number      uint64
	event, sync uint64
	at          time.Time // when it is due
}

func newKeys() *keys {
	return &keys{
		waiting: map[string]added{}, delayed: map[string]added{}, lastIDs: map[string]uint64{}, running: map[uint64]*clients.ReportedEnd{},
		numbers: clients.QueueReport{State: clients.StateStarting},
	}
}

// startWork notes that the worker takes keys from now on.
func (k *keys) startWork() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.numbers.State = ""
}

// newEvent returns the record of an event about an object.
func newEvent(k Kind, change string, o *unstructured.Unstructured) *clients.ReportedEvent {
	return &clients.ReportedEvent{
		Time: time.Now(), Change: change, Group: k.Group, Resource: k.Resource, Kind: k.Kind,
		Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion(),
	}
}

// add notes that an event adds keys. One that waits already is not added again.
func (k *keys) add(e *clients.ReportedEvent, names ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events++
	e.ID = k.events
	for _, key := range names {
		k.addKey(key, e)
	}
	k.record(clients.ReportedRecord{Event: e})
}

func (k *keys) addKey(key string, e *clients.ReportedEvent) {
	if len(k.lastIDs) >= maxRecords {
		clear(k.lastIDs) // of keys that may be gone; only a rare sync needs one, soon
	}
	k.lastIDs[key] = e.ID
	if _, waits := k.waiting[key]; !waits {
		k.numbers.Adds++
		k.waiting[key] = added{number: uint64(k.numbers.Adds), event: e.ID, at: time.Now()}
		e.Adds = append(e.Adds, uint64(k.numbers.Adds))
	}
}

// begin notes that a worker has taken a key out of the queue, and returns the ID of its sync.
func (k *keys) begin(controller, key string) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	cause, waited := k.waiting[key]
	delete(k.waiting, key)
	unsure := false
	later, isDue := k.delayed[key]
	if isDue = isDue && !now.Before(later.at); isDue {
		delete(k.delayed, key)
	}
	switch {
	case waited:
	case isDue:
		k.numbers.Adds++
		later.number = uint64(k.numbers.Adds)
		cause = later
	default: // an event arrived between the queue's and our own notice of the last sync
		k.numbers.Adds++
		cause, unsure = added{event: k.lastIDs[key], at: now}, true
	}
	k.syncs++
	k.numbers.Gets++
	k.numbers.InFlight++
	b := clients.ReportedBegin{ID: k.syncs, Controller: controller, Key: key, Time: now}
	k.running[b.ID] = &clients.ReportedEnd{
		ReportedBegin: b, Waited: max(now.Sub(cause.at), 0), Add: cause.number, Event: cause.event, Sync: cause.sync, Unsure: unsure,
	}
	k.record(clients.ReportedRecord{Began: &b})
	return b.ID
}

// end notes that a sync has ended. If due is set, its key is added again then.
func (k *keys) end(id uint64, err error, due time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.running[id]
	delete(k.running, id)
	e.Took = time.Since(e.Time)
	if err != nil {
		e.Error = err.Error()
	}
	if !due.IsZero() {
		e.Requeued, e.Due = true, due
		k.numbers.Retries++
		if sooner, ok := k.delayed[e.Key]; !ok || due.Before(sooner.at) { // as the queue does
			k.delayed[e.Key] = added{sync: id, at: due}
		}
	}
	k.numbers.Done++
	k.numbers.InFlight--
	k.record(clients.ReportedRecord{Ended: e})
}

// record keeps a record. A full buffer drops its oldest quarter.
func (k *keys) record(r clients.ReportedRecord) {
	if len(k.records) >= maxRecords {
		k.records = append(k.records[:0], k.records[maxRecords/4:]...)
		k.dropped += maxRecords / 4
	}
	k.records = append(k.records, r)
}

// take returns the numbers of the queue and the records to be sent now.
func (k *keys) take(limit int) (clients.QueueReport, []clients.ReportedRecord, int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	q := k.numbers
	q.Delayed = int64(len(k.delayed))
	for _, d := range k.delayed {
		if q.NextDue.IsZero() || d.at.Before(q.NextDue) {
			q.NextDue = d.at
		}
	}
	for _, w := range k.waiting {
		if w.event != 0 && len(q.Waiting) < clients.MaxReportWaiting {
			q.Waiting = append(q.Waiting, w.event)
		}
	}
	n := min(len(k.records), limit)
	records := append([]clients.ReportedRecord(nil), k.records[:n]...)
	k.records = append(k.records[:0], k.records[n:]...)
	return q, records, k.dropped
}

// hasRecords reports whether records wait to be sent.
func (k *keys) hasRecords() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.records) > 0
}
