package ui

import (
	"strconv"

	"github.com/ctrlplane/ctrlplane/observe"
)

// PlannedRequeues returns how many keys of a queue were added again with a delay although
// their sync succeeded; -1 if unknown.
func PlannedRequeues(q *observe.Queue) int64 {
	if q.Retries < 0 || q.ErrorRetries < 0 {
		return -1
	}
	return max(q.Retries-q.ErrorRetries, 0)
}

// formatRetries formats how many keys were added again after an error. The metrics of most
// programs count planned requeues, too: then it is an upper bound.
func formatRetries(q observe.Queue) string { return formatPartOf(q.Retries, q.ErrorRetries) }

// formatRequeues formats how many keys were added again as planned.
func formatRequeues(q observe.Queue) string { return formatPartOf(q.Retries, PlannedRequeues(&q)) }

func formatPartOf(all, part int64) string {
	if part < 0 && all >= 0 {
		return formatAtMost(all)
	}
	return formatInt(part)
}

// formatAtMost formats an upper bound.
func formatAtMost(n int64) string {
	if n > 0 {
		return "≤" + strconv.FormatInt(n, 10)
	}
	return formatInt(n)
}
