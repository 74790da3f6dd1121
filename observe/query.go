package observe

// Query selects records. Its zero value selects all that are kept.
type Query struct {
	After      uint64  `json:"after,omitempty"`      // only those with a higher Seq
	Kinds      []Kind  `json:"kinds,omitempty"`      // nil = all
	Controller string  `json:"controller,omitempty"` // empty = all
	Object     *Object `json:"object,omitempty"`     // only what concerns it
	Sync       uint64  `json:"sync,omitempty"`       // only what belongs to this sync
	Notable    bool    `json:"notable,omitempty"`    // only writes, failures and changes of state, without chatter
	Reads      bool    `json:"reads,omitempty"`      // calls that only read, too
	Limit      int     `json:"limit,omitempty"`      // the newest so many; 0 = all
}

// Page is the answer to a Query, in order.
type Page struct {
	Records []Record `json:"records"`
	// Next is what After of the next query has to be to go on.
	Next uint64 `json:"next"`
	// Missed counts the records after Query.After that are no longer kept,
	// whether or not they would have been selected.
	Missed uint64 `json:"missed,omitempty"`
}

// Match says whether the record is selected; it does not look at After and Limit.
func (q *Query) Match(r *Record) bool {
	if q.Controller != "" && controllerOf(r.Event) != q.Controller {
		return false
	}
	if c, ok := r.Event.(*Called); ok && !q.Reads && !c.IsWrite() && !c.Failed() {
		return false
	}
	if q.Notable && !isNotable(r.Event) {
		return false
	}
	if q.Sync != 0 && syncOf(r.Event) != q.Sync {
		return false
	}
	if q.Object != nil && !concerns(r.Event, *q.Object) {
		return false
	}
	if q.Kinds == nil {
		return true
	}
	for _, k := range q.Kinds {
		if k == r.Event.Kind() {
			return true
		}
	}
	return false
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

// concerns says whether e is about o: its event, its call, or a sync or a log
// line whose key or value is o's. The last two do not know the resource.
func concerns(e Event, o Object) bool {
	switch e := e.(type) {
	case *Delivered:
		return e.Object.Same(o)
	case *Called:
		return e.Object.Same(o)
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
