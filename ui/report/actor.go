package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ctrlplane/ctrlplane/observe"
)

// actor is a row of the table of controllers and clients. What it does is counted from the records, as the list of errors is; what
// has no record is from the snapshot at the end.
type actor struct {
	Name, State, Reason string
	Client              bool // it has no syncs
	Delivered, Syncs    int64
	activity
}

// activity counts what the records say of a controller or client.
type activity struct{ Reads, Writes, Conflicts, FailedCalls, FailedSyncs int64 }

// countCall counts a call that the page shows in a tone.
func (d *digest) countCall(e *observe.Called, tone markTone) {
	a := d.actorOf(e.Controller)
	a.Client = a.Client || e.Client != nil
	if e.IsWrite() {
		a.Writes++
	} else {
		a.Reads++
	}
	switch tone {
	case toneConflict:
		a.Conflicts++
	case toneFailed:
		a.FailedCalls++
	}
}

func (d *digest) actorOf(name string) *actor {
	a := d.actors[name]
	if a == nil {
		a = &actor{Name: name}
		d.actors[name] = a
	}
	return a
}

// listActors returns the controllers and clients with any activity or a failure, busiest first.
func (d *digest) listActors(controllers []observe.Controller) []actor {
	list := make([]actor, 0, len(d.actors))
	known := map[string]bool{}
	for _, c := range controllers {
		a := actor{Name: c.Name, State: c.State, Reason: c.Reason, Delivered: c.Delivered, Syncs: c.Syncs}
		if counted := d.actors[c.Name]; counted != nil {
			a.activity = counted.activity
		}
		known[c.Name] = true
		if a.Syncs+a.Writes+a.Delivered+a.Reads > 0 || c.State == observe.StateFailed {
			list = append(list, a)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.actors)) {
		if a := *d.actors[name]; !known[name] {
			if a.Client {
				a.State = "client"
			}
			list = append(list, a)
		}
	}
	slices.SortStableFunc(list, func(a, b actor) int { return cmp.Compare(b.Syncs+b.Writes, a.Syncs+a.Writes) })
	return list
}

// total returns the sums of the columns of the table.
func total(actors []actor) actor {
	var t actor
	for _, a := range actors {
		t.Delivered += a.Delivered
		t.Syncs += a.Syncs
		t.Reads += a.Reads
		t.Writes += a.Writes
		t.Conflicts += a.Conflicts
		t.FailedCalls += a.FailedCalls
		t.FailedSyncs += a.FailedSyncs
	}
	return t
}
