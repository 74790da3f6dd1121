package ui

import (
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// EndedOperatorLines says that the operator of "ctrlplane dev" does not run, if that is so: since when, why, and what starts it.
func EndedOperatorLines(s observe.Snapshot) []string {
	e := s.Process.EndedOperator
	if e.Time.IsZero() {
		return nil
	}
	return []string{"the operator of dev has not run for " + words.Duration(s.Time.Sub(e.Time)) + ": " + e.Cause() + "; dev starts it again when a source changes"}
}
