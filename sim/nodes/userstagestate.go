package nodes

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// userStageState is what is known of the stage of a user that kwok was given for a Pod. kwok does not tell that it
// has played one that changes nothing.
type userStageState struct {
	due     time.Time
	failed  bool // kwok does not try again before the Pod changes
	retried bool // it has failed, and kwok tries again
}

// playTime is how long after it is due a stage has been played, unless that takes work or a write, which are
// noticed.
const playTime = time.Second

// isAwaited reports whether kwok has yet to play the stage.
func (s userStageState) isAwaited(now time.Time) bool {
	return !s.failed && (s.retried || now.Before(s.due.Add(playTime)))
}

// failStage notes that kwok has failed to play a stage for a Pod, and whether it tries again.
func (r *podRegistry) failStage(uid types.UID, retried bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.pods[uid]; e != nil {
		e.userStage.failed, e.userStage.retried = !retried, retried
	}
}
