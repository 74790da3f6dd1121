package observe

import "slices"

// Query selects records. Its zero value selects all kept records except reads.
type Query struct {
	After      uint64  `json:"after,omitempty"`      // only records with a higher Seq
	Kinds      []Kind  `json:"kinds,omitempty"`      // nil = all
	Controller string  `json:"controller,omitempty"` // empty = all
	Object     *Object `json:"object,omitempty"`     // only records about this object
	Sync       uint64  `json:"sync,omitempty"`       // only records of this sync
	Notable    bool    `json:"notable,omitempty"`    // only writes, failures, changes of state, and warnings and errors of logs and Events; no other writes of Leases and Events
	Reads      bool    `json:"reads,omitempty"`      // include calls that only read
	Causes     bool    `json:"causes,omitempty"`     // include what the rings have dropped and what led to objects that exist
	Limit      int     `json:"limit,omitempty"`      // keep only the newest; 0 = all
}

// Page is the result of a Query, in order of Seq.
type Page struct {
	Records []Record `json:"records"`
	// Next is the value of After for the next query.
	Next uint64 `json:"next"`
	// Missed counts the dropped records after Query.After, whether or not they
	// match the query. With Query.Notable it counts notable ones only, and with Query.Causes
	// those that are not background.
	Missed uint64 `json:"missed,omitempty"`
	// LeftOut counts the records that match the query and that its Limit leaves out.
	LeftOut uint64 `json:"leftOut,omitempty"`
	// CompleteAfter is the Seq after which none of these is missed or left out; with Missed, 0 means
	// that it is not known.
	CompleteAfter uint64 `json:"completeAfter,omitempty"`
	// Last is the Seq of the newest record, which may still be on its way into the journal; 0 if the source has no journal.
	Last uint64 `json:"last,omitempty"`
}

// Select returns the record as the query shows it, and whether the query selects it: of an event that was
// delivered to several controllers, only the one that was asked for. It ignores After and Limit.
func (q *Query) Select(r *Record) (Record, bool) {
	read := *r
	if e, ok := r.Event.(*callEntry); ok {
		switch { // before the call is copied
		case !q.hasKind(KindCalled), !q.Reads && e.has(callIsPlainRead), q.Notable && !e.has(callIsNotable),
			q.Controller != "" && e.kind.controller != q.Controller, q.Sync != 0 && e.sync != q.Sync:
			return Record{}, false
		}
		read = r.forReader()
	}
	if r.idle != nil && q.hasKind(KindDelivered) {
		read = r.forReader() // also if it is not selected: the next query begins after it
	}
	if !q.Match(&read) {
		return Record{}, false
	}
	if q.Controller != "" {
		return read.only(q.Controller), true
	}
	return read, true
}

func (q *Query) hasKind(k Kind) bool { return q.Kinds == nil || slices.Contains(q.Kinds, k) }

// Match reports whether the query selects the record. It ignores After and Limit.
func (q *Query) Match(r *Record) bool {
	if q.Controller != "" && controllerOf(r.Event) != q.Controller && !r.wasDeliveredTo(q.Controller) {
		return false
	}
	if c, ok := r.Event.(*Called); ok && !q.Reads && c.isPlainRead() {
		return false
	}
	if q.Notable && !isNotable(r.Event) {
		return false
	}
	if q.Sync != 0 && syncOf(r.Event) != q.Sync {
		return false
	}
	if q.Object != nil && !concernsObject(r.Event, *q.Object) {
		return false
	}
	return q.hasKind(r.Event.Kind())
}

func controllerOf(e Event) string {
	switch e := e.(type) {
	case *ControllerChanged:
		return e.Controller
	case *QueueChanged:
		return e.Controller
	case *Delivered:
		return e.Controller
	case *Called:
		return e.Controller
	case *Synced:
		return e.Controller
	case *Logged:
		return e.Controller
	}
	return ""
}

func syncOf(e Event) uint64 {
	switch e := e.(type) {
	case *Called:
		return e.Sync
	case *Synced:
		return e.ID
	case *Logged:
		return e.Sync
	}
	return 0
}

// concernsObject reports whether e is about o: an event or a call of the object, or a
// sync or log line that has its key. Syncs and log lines do not know the resource.
func concernsObject(e Event, o Object) bool {
	switch e := e.(type) {
	case *Delivered:
		return e.Object.Same(o)
	case *Called:
		return e.Object.Same(o) || e.Event != nil && e.Event.Regarding.Same(o)
	case *Synced:
		return e.Key == o.Key()
	case *Logged:
		for _, a := range e.Attrs {
			if a.Value == o.Key() {
				return true
			}
		}
	}
	return false
}
