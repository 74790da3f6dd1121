package container

import (
	"cmp"
	"slices"
	"time"
)

// FailingProbe is a liveness probe that has failed, but not often enough to stop its container, or for which the container
// is being stopped.
type FailingProbe struct {
	Namespace, Pod, Container string
	Failures, Threshold       int32
	Next                      time.Time // when it is made again
}

// FailingProbes returns the failing liveness probes, at most that many, the next one first.
func (r *Runtime) FailingProbes(most int) []FailingProbe {
	s := r.active()
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []FailingProbe
	for run, p := range s.failing {
		if run.state.Phase == Running {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b FailingProbe) int {
		return cmp.Or(a.Next.Compare(b.Next), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Container, b.Container))
	})
	return all[:min(len(all), most)]
}

// noteResult keeps the number of failures in a row of a liveness probe, none after a success.
func (s *session) noteResult(r *run, failures, threshold int32, next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if failures == 0 {
		delete(s.failing, r)
		return
	}
	s.failing[r] = FailingProbe{r.pod.namespace, r.pod.name, r.name, failures, threshold, next}
}
