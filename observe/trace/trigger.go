package trace

import (
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// minTimer is how long a key must be delayed for the timer to be a reason of its own. A shorter delay goes on with the same work.
const minTimer = time.Second

// trigger returns what a write follows from: an event, or a sync that a timer has queued because the sync before had asked for it;
// nil if neither is known.
func (n *Node) trigger() *Node {
	for p := n.causedBy; p != nil && p.Kind != Call && p.Kind != Outside; p = p.causedBy {
		if p.Kind == Event || p.isRetry() && p.causedBy.requeueDelay() >= minTimer {
			return p
		}
	}
	return nil
}

// requeueDelay returns the delay with which a sync has requeued its key; 0 if it has not, if the delay is not known, or if the sync
// has failed: then it is repeated for the same reason.
func (n *Node) requeueDelay() time.Duration {
	if n.record == nil || n.Failed || n.record.Due.IsZero() {
		return 0
	}
	return n.record.Due.Sub(n.End())
}

// leadsBackTo reports whether the first write of a chain is worth a sentence: of what a timer repeats, it is one of a user, unless
// the controller has only found what that wrote when it started.
func (n *Node) leadsBackTo(first *Node) bool {
	if n.Kind != Sync {
		return true
	}
	for p := n; p != first; p = p.causedBy {
		if p.Change == observe.Listed {
			return false
		}
	}
	return first.isByUser()
}
