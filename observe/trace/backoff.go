package trace

import "time"

// backoff says whether the pauses between attempts grow as those of a client that takes the answer for an error.
type backoff struct {
	pause       time.Duration // the last one
	grown       int           // how often in a row it was about twice the one before
	accompanied bool          // the client has made another write since the last attempt
	found       bool
}

const (
	minBackoff = 4 // growths in a row
	// Most retries double the pause, some with jitter.
	minBackoffFactor = 1.5
	maxBackoffFactor = 3
)

// note adds the pause before an attempt. An attempt that is followed by other writes of the client may have been answered as
// expected: one of those may have failed.
func (b *backoff) note(pause time.Duration) {
	factor := float64(pause) / float64(max(b.pause, 1))
	if factor < minBackoffFactor || factor > maxBackoffFactor || b.accompanied {
		b.grown = 0
	} else {
		b.grown++
	}
	b.pause, b.accompanied, b.found = pause, false, b.found || b.grown >= minBackoff
}

// existingObjects are the creations of clients that have found that their objects exist.
type existingObjects struct {
	failingWrites
	last map[string]*failedEffect // by client, its last attempt of these
}

func newExistingObjects() existingObjects {
	return existingObjects{failingWrites{}, map[string]*failedEffect{}}
}

// noteWrite notes any write of a client before it is counted. Leases and Events do not matter.
func (e existingObjects) noteWrite(k subject, n *Node) {
	if f := e.last[n.Controller]; f != nil && f != e.failingWrites[attempts{subject: k}] && !n.Object.IsRoutine() {
		f.backoff.accompanied = true
	}
}

// noteFailed counts an attempt.
func (e existingObjects) noteFailed(k subject, n, by *Node) {
	var pause time.Duration
	if before := e.failingWrites[attempts{subject: k}]; before != nil {
		pause = n.Time.Sub(before.last.Time)
	}
	f := e.failingWrites.noteFailed(k, n)
	f.backoff.note(pause)
	f.existing, e.last[n.Controller] = by, f
}

// refused returns those that their clients most likely take for failures: the pauses between the attempts grow.
func (e existingObjects) refused() (list []*failedEffect) {
	for _, f := range e.sorted() {
		if f.backoff.found && (f.existing == nil || f.existing.Controller != f.last.Controller) {
			list = append(list, f)
		}
	}
	return list
}
