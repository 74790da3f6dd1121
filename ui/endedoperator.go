package ui

import (
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// EndedOperatorLines says that the operator of "ctrlplane dev" does not run, if that is so: since when, why, and what starts it.
func EndedOperatorLines(s observe.Snapshot) []string {
	e := s.Process.EndedOperator
	if e.Time.IsZero() {
		return nil
	}
	return []string{words.OneLine("the operator of dev has not run for " + words.Duration(s.Time.Sub(e.Time)) + ": " + EndedOperatorReason(s) + "; dev starts it again when a source changes")}
}

// EndedOperatorReason says how the operator of "ctrlplane dev" has ended: "it exited with code 1". It is empty if that runs.
func EndedOperatorReason(s observe.Snapshot) string {
	why := s.Process.EndedOperator.Reason
	if does, ok := strings.CutPrefix(why, "the operator "); ok {
		why = "it " + does
	}
	return words.OneLine(why)
}
