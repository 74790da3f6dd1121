package ctrlplane

import "github.com/ctrlplane/ctrlplane/control"

// Interventions is the hand on the controllers: it pauses and steps them, stops and
// starts them, makes their calls slow or fail. It is nil before Start has got as
// far as the options.
func (s *Server) Interventions() control.Interventions {
	if p := s.instance(); p != nil && p.supervisor != nil {
		return p.supervisor.Interventions()
	}
	return nil
}
