package observe

// NoteCreation notes whether the call which the calling goroutine serves is to create its object. A repeated attempt of the call
// replaces the one before.
func NoteCreation(isCreation bool) {
	if s := currentScope(); s != nil && s.call != nil {
		s.call.isCreation.Store(isCreation)
	}
}

// IsCreation reports whether it was noted that the call is to create its object. A nil ServedCall has nothing noted.
func (s *ServedCall) IsCreation() bool { return s != nil && s.run.isCreation.Load() }
