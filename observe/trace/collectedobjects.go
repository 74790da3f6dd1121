package trace

import (
	"maps"
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// collectedObjects returns the objects that a key of the garbage collector stands for. No event queues its keys, which have no kind:
// a sync reads the object of its key first, and then its owners.
func collectedObjects(records []observe.Record, key string) (found []observe.Object) {
	first := map[uint64]observe.Object{} // by sync
	for i := range slices.Backward(records) {
		switch e := records[i].Event.(type) {
		case *observe.Synced:
			if e.Controller == controllernames.GarbageCollector && e.Queue == controllernames.GarbageCollectorQueue && e.Key == key {
				first[e.ID] = observe.Object{}
			}
		case *observe.Called:
			if _, ofKey := first[e.Sync]; ofKey && e.Object.Key() == key {
				first[e.Sync] = e.Object
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(first)) {
		o := first[id]
		o.UID = ""
		if o.Name != "" && !slices.ContainsFunc(found, o.Same) {
			found = append(found, o)
		}
	}
	return found
}
