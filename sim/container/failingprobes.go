package container

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// FailingProbe is a liveness probe that has failed. If it has failed as often as its threshold, its container is being stopped.
type FailingProbe struct {
	Namespace, Pod, Container string
	Failures, Threshold       int32
	Next                      time.Time // when it is made again

	until time.Time // it is not returned after that
}

// maxUndecided is how long after the start of its Pod a failing probe is returned: within that time those with the default
// period and threshold stop their container twice. "ctrlplane run" waits a minute until all has settled.
const maxUndecided = 45 * time.Second

// FailingProbes returns the failing liveness probes that stop their containers soon after the start of the Pod, unless they
// succeed again: at most that many, the next one first.
func (r *Runtime) FailingProbes(most int) []FailingProbe {
	s := r.active()
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []FailingProbe
	now := time.Now()
	for run, p := range s.failing {
		if run.state.Phase == Running && now.Before(p.until) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b FailingProbe) int {
		return cmp.Or(a.Next.Compare(b.Next), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Container, b.Container))
	})
	return all[:min(len(all), most)]
}

// noteResult keeps the number of failures in a row of a liveness probe, none after a success.
func (s *session) noteResult(r *run, of *corev1.Pod, failures, threshold int32, next time.Time, period time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	began := r.state.StartedAt
	if of.Status.StartTime != nil {
		began = of.Status.StartTime.Time
	}
	until := began.Add(maxUndecided)
	if failures == 0 || next.Add(time.Duration(threshold-failures-1)*period).After(until) {
		delete(s.failing, r)
		return
	}
	s.failing[r] = FailingProbe{r.pod.namespace, r.pod.name, r.name, failures, threshold, next, until}
}
