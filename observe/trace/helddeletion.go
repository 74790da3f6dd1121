package trace

import (
	"cmp"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// HeldDeletion is what the records say of an object that is being deleted.
type HeldDeletion struct {
	Requested time.Time // zero if it is not known
	// Synced are the last syncs of the object's key that the controllers of operators have ended since.
	Synced map[string]HeldSync
	// Wrote are the controllers and clients that have written the object since.
	Wrote map[string]bool
}

// HeldSync is a sync of an object that is being deleted.
type HeldSync struct {
	Ended  time.Time
	Failed bool
}

// ReadHeldDeletion returns what the records say of an object that is being deleted.
func ReadHeldDeletion(records []observe.Record, about observe.Object) HeldDeletion {
	of := placeOf(&about)
	d, isOfObject := HeldDeletion{}, map[queueName]bool{}
	begin := func(requested time.Time) { d = HeldDeletion{requested, map[string]HeldSync{}, map[string]bool{}} }
	begin(time.Time{})
	for i := range records {
		switch e := records[i].Event.(type) {
		case *observe.Called:
			at := slices.IndexFunc(e.Wrote, func(w observe.Written) bool { return placeOfWritten(w) == of })
			switch {
			case at < 0:
			case e.Wrote[at].Deleted || observe.Creates(e.Verb, e.Subresource, e.Status) || e.Verb == observe.VerbRestore:
				begin(time.Time{})
			case !d.Requested.IsZero():
				d.Wrote[e.Controller] = true
			case e.Verb == "delete" || e.Verb == "deletecollection":
				begin(cmp.Or(e.Began, records[i].Time))
			}
		case *observe.Synced:
			began := records[i].Time.Add(-e.Took)
			if d.Requested.IsZero() || began.Before(d.Requested) || e.Key != about.Key() || !e.KeyBasis.Certain() || !observe.IsReported(e.Controller) {
				continue
			}
			q := queueName{e.Controller, e.Queue}
			is, known := isOfObject[q]
			if !known { // which reads all records
				is = isObjectKey(records, e.Controller, e.Queue, e.Key, about)
				isOfObject[q] = is
			}
			if is {
				d.Synced[e.Controller] = HeldSync{records[i].Time, e.Failed()}
			}
		}
	}
	return d
}

// WritersAs returns the clients, or their controllers, that have written an object, other than a subresource, as a field manager.
func WritersAs(records []observe.Record, about observe.Object, manager string) (list []string) {
	for i := range records {
		if c, ok := records[i].Event.(*observe.Called); ok && c.FieldManager == manager && c.Subresource == "" && hasWritten(c, about) && !slices.Contains(list, c.Controller) {
			list = append(list, c.Controller)
		}
	}
	return list
}
