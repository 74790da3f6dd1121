package ctrlplane

import "github.com/ctrlplane/ctrlplane/control"

// Interventions pauses, steps, stops, starts and scales controllers, and delays
// their calls or makes them fail. It is nil until Start has checked the options.
func (s *Server) Interventions() control.Interventions {
	if p := s.instance(); p != nil && p.supervisor != nil {
		return p.supervisor.Interventions()
	}
	return nil
}
