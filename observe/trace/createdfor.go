package trace

import (
	"net/http"
	"slices"

	"github.com/ctrlplane/ctrlplane/observe"
)

// createdFor returns an object and, as far as the records tell, those that its controllers have created for it: the
// ReplicaSets of a Deployment, and their Pods. They follow from syncs of its key in queues that have the name of its
// kind. A name stands for one object: which of several with that name it was is not asked.
func createdFor(records []observe.Record, about observe.Object) []observe.Object {
	about.UID = ""
	syncs := map[uint64]*observe.Synced{}
	for i := range records {
		if s, ok := records[i].Event.(*observe.Synced); ok && s.Key != "" {
			syncs[s.ID] = s
		}
	}
	found, byKey := []observe.Object{about}, map[string][]observe.Object{about.Key(): {about}}
	for i := range records {
		c, ok := records[i].Event.(*observe.Called)
		if !ok || c.Sync == 0 || c.Status >= http.StatusBadRequest || c.Object.Name == "" || c.IsRoutine() || !observe.Creates(c.Verb, c.Subresource, c.Status) {
			continue
		}
		s := syncs[c.Sync]
		if s == nil || !isKeyOfAny(s, byKey[s.Key]) {
			continue
		}
		o := c.Object
		o.UID = ""
		if slices.ContainsFunc(byKey[o.Key()], o.Same) {
			continue // an earlier one of its name was deleted
		}
		found, byKey[o.Key()] = append(found, o), append(byKey[o.Key()], o)
	}
	return found
}

// isKeyOfAny reports whether the queue of a sync has the name of the kind of one of the objects with its key.
func isKeyOfAny(s *observe.Synced, objects []observe.Object) bool {
	for _, o := range objects {
		if isNamedAfter(s.Controller, s.Queue, o) {
			return true
		}
	}
	return false
}
