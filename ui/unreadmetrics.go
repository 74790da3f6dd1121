package ui

import (
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// UnreadMetricsLines says, one line each, which metrics of "--with" cannot be read, since when and why.
func UnreadMetricsLines(s observe.Snapshot) (lines []string) {
	for _, m := range s.Process.UnreadMetrics {
		with := "--with"
		if m.Program != "" {
			with += " " + m.Program
		}
		lines = append(lines, words.OneLine(with+" has not been read for "+words.Duration(max(s.Time.Sub(m.Since), 0))+": "+m.Reason))
	}
	return lines
}
