package ctrlplane

import "github.com/ctrlplane/ctrlplane/control"

// Gates is the hand on the controllers: it pauses and steps them, stops and
// starts them, makes their calls slow or fail. It is nil before Start has got as
// far as the options.
func (s *Server) Gates() control.Gates {
	if p := s.running(); p != nil && p.supervisor != nil {
		return p.supervisor.Gates()
	}
	return nil
}
