package observe

import (
	"time"
)

// removalDelay is how long the history keeps an object whose deletion was delivered. To a controller whose watch has a
// selector, an object that ceases to be selected is deleted, too: then it has the version of the event. That is often
// delivered before the call that made the version is recorded.
const removalDelay = 10 * time.Second

// removal is the deletion of an object, as an event says.
type removal struct {
	seenObject
	number uint64 // its version
	at     time.Time
}

// readDeletion notes that an object is likely gone. Only the removals that the storage reports are certain.
func (h *history) readDeletion(at storedObject, r *Record, d *Delivered) {
	o := h.objects[at]
	number := VersionNumber(d.ResourceVersion)
	if o == nil || number == 0 || o.existsWith(d.ResourceVersion) {
		return
	}
	if o.removed != nil {
		o.removed.number = max(o.removed.number, number)
		return
	}
	o.removed = &removal{seenObject{at, o.number}, number, r.Time}
	h.removed = append(h.removed, o.removed)
	if len(h.removed) > h.most {
		h.forgetRemoved()
	}
}

// forgetLongRemoved forgets the objects that have been gone for a while.
func (h *history) forgetLongRemoved(now time.Time) {
	for len(h.removed) > 0 && now.Sub(h.removed[0].at) >= removalDelay {
		h.forgetRemoved()
	}
}

// forgetRemoved forgets the object that was removed first, unless it exists after all.
func (h *history) forgetRemoved() {
	first := h.removed[0]
	h.removed = h.removed[1:]
	if o := h.objects[first.storedObject]; o != nil && o.removed == first {
		delete(h.objects, first.storedObject)
	}
}

// existsWith reports whether the object is known to exist with a version, or with a newer one.
func (o *objectHistory) existsWith(version string) bool {
	if o.newest > VersionNumber(version) {
		return true
	}
	v := o.find(version)
	return v != nil && !v.isRemoval()
}

// noteExisting notes that the object exists if a version is not older than its removal.
func (o *objectHistory) noteExisting(v *versionNode) {
	if o.removed != nil && VersionNumber(v.number) >= o.removed.number && !v.isRemoval() {
		o.removed = nil
	}
}

// isRemoval reports whether a delete has made the version: its answer has the version of the removal, unless it has
// only marked the object.
func (v *versionNode) isRemoval() bool {
	if v.call == nil || v.call.record == nil {
		return false
	}
	switch c := v.call.record.Event.(type) {
	case *callEntry:
		return c.kind.verb == "delete"
	case *Called:
		return c.Verb == "delete"
	}
	return false
}
