package trace

import (
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// LastChange returns when the last write of a client that changed an object, other than its status, began, and whether
// there is one. It looks for one whose record has a Seq above after. Records are in order of Seq; of a write that changed
// nothing they only tell if they have the writes before it.
func LastChange(records []observe.Record, about observe.Object, after uint64) (began time.Time, ok bool) {
	for _, n := range slices.Backward(newGraph(records, about, Options{}).calls) {
		if n.seq > after && n.byClient && n.isWrite() && !n.gotError() && !n.noEffect && n.Subresource != "status" && placeOf(n.Object) == placeOf(&about) {
			return n.Time, true
		}
	}
	return time.Time{}, false
}
