package ctrlplane

import "context"

// StartInterrupted returns a channel that is closed once Close has interrupted a start.
// It has to be called before Close.
func (s *Server) StartInterrupted() <-chan struct{} {
	p := s.currentInstance()
	interrupted, cancel := make(chan struct{}), p.cancelStart
	p.cancelStart = context.CancelCauseFunc(func(cause error) {
		cancel(cause)
		close(interrupted)
	})
	return interrupted
}
