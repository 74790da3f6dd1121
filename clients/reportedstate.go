package clients

import (
	"cmp"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// reopenTime is how long a client may take to open a watch again that has ended, as each does
	// after some minutes.
	reopenTime = 250 * time.Millisecond
	// reportInterval is how long a living process may take to report, with some delay.
	reportInterval = 3 * time.Second
)

// noteClosed notes that the last watch of a connection has ended. If reports came over it, its
// process has probably ended, or else it reports again soon. Where watches and reports have
// different connections, only a client without any watch is such a case.
func (r *reportedState) noteClosed(conn string, none bool, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		switch {
		case s.silent || !s.lost.IsZero():
		case s.conn == conn:
			s.lost, s.heard = now.Add(reopenTime), now
		case none && now.Sub(s.seen) < sessionTimeout:
			s.lost = s.seen.Add(reportInterval)
		}
	}
}

// noteRequest notes that a client has sent a request over a connection: its process has not ended.
func (r *reportedState) noteRequest(conn string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		if s.conn == conn {
			s.lost, s.heard = time.Time{}, time.Now()
		}
	}
}

// since returns when a controller has come into a state, as of now: where its process is gone, when that
// was last heard of.
func (r *reportedState) since(rc *reportedController, state string, now time.Time) time.Time {
	switch {
	case state == observe.StateOff && rc.gone != "":
		return rc.offSince
	case state != observe.StateUnknown:
		return now
	}
	var last time.Time
	for _, s := range r.sessions {
		if s.queues[rc.shortName] != nil && !s.silent && s.isLost(now) && s.heard.After(last) {
			last = s.heard
		}
	}
	return last
}

// endLost ends the sessions whose connection has ended once a new process reports: it takes the
// place of theirs.
func (r *reportedState) endLost(session string) {
	if r.sessions[session] != nil {
		return
	}
	now := time.Now()
	for _, s := range r.sessions {
		if !s.silent && s.isLost(now) {
			r.leave(s, observe.GoneLost)
		}
	}
}

// isConnected reports whether a process reports.
func (r *reportedState) isConnected(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		if !s.silent && !s.isLost(now) {
			return true
		}
	}
	return false
}

// awaitsReport reports whether a process may be working for an event that was sent to it a moment ago: the report
// of that follows. So does one if its connection has just ended, unless the process has ended, too.
func (r *reportedState) awaitsReport(now time.Time) bool {
	event := time.Unix(0, r.eventSent.Load())
	sentNow := now.Sub(event).Abs() <= maxReportDelay // not if the clock was set back
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		switch {
		case s.silent || s.isLost(now):
		case !s.lost.IsZero(), sentNow && s.works() && s.sent.Before(event.Add(handlingTime)):
			return true
		}
	}
	return false
}

// works reports whether the workers of a controller of the process have started.
func (s *session) works() bool {
	for _, q := range s.queues {
		if q.State == "" {
			return true
		}
	}
	return false
}

// isLost reports whether the process has probably ended without a last report.
func (s *session) isLost(now time.Time) bool { return !s.lost.IsZero() && now.After(s.lost) }

// runningKeys returns the keys of a controller's syncs that had begun, and not ended, with the last report of the process.
func (s *session) runningKeys(rc *reportedController) (keys []string) {
	for _, ref := range s.order {
		if sync := s.syncs[ref]; sync != nil && sync.controller == rc && sync.began && !sync.ended {
			keys = append(keys, sync.key)
		}
	}
	slices.Sort(keys)
	return keys
}

// stateOf returns the state of a controller without interventions, and why it is not running. Of
// several processes, the one that works counts, then those that may do so next.
func (r *reportedState) stateOf(rc *reportedController, now time.Time) observe.ControllerChanged {
	var isStarting, isStandby bool
	var lost, stopping *session
	for _, s := range r.sessions {
		q := s.queues[rc.shortName]
		switch {
		case q == nil || s.silent:
		case s.isLost(now):
			lost = s
		case q.State == StateStarting:
			isStarting = true
		case q.State == StateStopping:
			stopping = s
		case q.State == StateStandby:
			isStandby = true
		default:
			return observe.ControllerChanged{State: observe.StateRunning}
		}
	}
	switch {
	case isStarting:
		reason := "its workers have not started"
		if refused := rc.client.refused.describe(time.Time{}, now, 1); refused != "" {
			reason += "; " + refused
		} else {
			reason += ": its caches are not filled yet"
		}
		return observe.ControllerChanged{State: observe.StateBuilding, Reason: reason}
	case stopping != nil:
		reason := "its process is ending"
		if keys := stopping.runningKeys(rc); len(keys) > 0 {
			reason += " and waits for the sync of " + words.First(keys, 3)
		}
		return observe.ControllerChanged{State: observe.StateStopping, Reason: reason}
	case lost != nil:
		return observe.ControllerChanged{State: observe.StateUnknown, Reason: observe.GoneLost.Reason(lost.runningKeys(rc)), Gone: observe.GoneLost}
	case isStandby:
		reason := "its workers have not started: its process waits to be the leader"
		if refused := rc.client.refused.describe(time.Time{}, now, 1); refused != "" { // with EnableWarmup its caches are filled now
			reason += "; " + refused
		}
		return observe.ControllerChanged{State: observe.StateBuilding, Reason: reason}
	}
	return observe.ControllerChanged{State: observe.StateOff, Reason: cmp.Or(rc.goneReason, rc.gone.Reason(nil)), Gone: rc.gone}
}
