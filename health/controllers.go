package health

import (
	"cmp"
	"fmt"

	"github.com/ctrlplane/ctrlplane/observe"
)

// WithRecords returns a waiter that also asks a source about the control plane: its reasons do not say of a controller that does not
// run what that is going to do.
func (w *Waiter) WithRecords(src observe.Source) *Waiter {
	return &Waiter{kinds: w.kinds, objects: w.objects, records: src}
}

// explainStopped says that a controller which would do something does not run; "" if it does, or if that is not known.
func (s *reasonSearch) explainStopped(controller, would string) string {
	if s.records == nil {
		return ""
	}
	if s.cache.stopped == nil {
		s.cache.stopped = map[string]string{}
		now, err := s.records.Snapshot(s.ctx)
		if err != nil || now.Process.StandbyReason() != "" { // another process runs them
			return ""
		}
		for _, c := range now.Controllers {
			if c.State == observe.StateOff || c.State == observe.StateFailed {
				s.cache.stopped[c.Name] = cmp.Or(c.Reason, c.State)
			}
		}
	}
	why := s.cache.stopped[controller]
	if why == "" {
		return ""
	}
	return fmt.Sprintf("%s, which would %s, does not run: %s", controller, would, why)
}
