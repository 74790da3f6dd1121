package main

import "slices"

// summary summarizes the values of several runs.
type summary struct{ median, min, max float64 }

// summarize needs at least one value.
func summarize(values []float64) summary {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return summary{
		median: (sorted[(n-1)/2] + sorted[n/2]) / 2,
		min:    sorted[0],
		max:    sorted[n-1],
	}
}

// overlaps reports whether two ranges have a value in common.
func (s summary) overlaps(t summary) bool { return s.min <= t.max && t.min <= s.max }
