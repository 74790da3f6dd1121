package ui

import (
	"strconv"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// queueColumns are the columns of the tables of queues. several counts the queues of each controller.
func queueColumns(several map[string]int) []column[observe.Queue] {
	type queue = observe.Queue
	return []column[queue]{
		{"CONTROLLER", narrowOnly, func(q queue) string { return queueLabel(q, several[q.Controller] > 1) }},
		{"QUEUE", wideOnly, func(q queue) string { return q.Name }},
		{"CONTROLLER", wideOnly, func(q queue) string { return q.Controller }},
		{"DEPTH", always, func(q queue) string { return formatInt(q.Depth) }},
		{"IN FLIGHT", always, func(q queue) string { return formatInt(q.InFlight) }},
		{"WORKERS", wideOnly, func(q queue) string { return formatWorkers(q.Workers) }},
		{"DELAYED", wideOnly, func(q queue) string { return formatDelayed(q.Delayed) }},
		{"ADDS", always, func(q queue) string { return formatInt(q.Adds) }},
		{"GETS", wideOnly, func(q queue) string { return formatInt(q.Gets) }},
		{"DONE", always, func(q queue) string { return formatInt(q.Done) }},
		{"RETRIES", always, formatRetries},
		{"REQUEUES", wideOnly, formatRequeues},
		{"ADDS/S", wideOnly, func(q queue) string { return formatRate(q.AddRate) }},
		{"DONE/S", wideOnly, func(q queue) string { return formatRate(q.DoneRate) }},
		{"WAIT P50", wideOnly, func(q queue) string { return formatQuantile(q.Wait.Total.Count, q.Wait.Total.P50) }},
		{"WAIT P99", always, func(q queue) string { return formatQuantile(q.Wait.Total.Count, q.Wait.Total.P99) }},
		{"WAIT MAX", wideOnly, func(q queue) string { return formatQuantile(q.Wait.Total.Count, q.Wait.Total.Max) }},
		{"WORK P50", wideOnly, func(q queue) string { return formatQuantile(q.Work.Total.Count, q.Work.Total.P50) }},
		{"WORK P99", always, func(q queue) string { return formatQuantile(q.Work.Total.Count, q.Work.Total.P99) }},
		{"WORK MAX", wideOnly, func(q queue) string { return formatQuantile(q.Work.Total.Count, q.Work.Total.Max) }},
		{"UNFINISHED", wideOnly, func(q queue) string { return formatPositive(q.Unfinished) }},
		{"LONGEST", wideOnly, func(q queue) string { return formatPositive(q.Longest) }},
	}
}

// formatQueueTable is the table of all queues with all columns if wide is set, otherwise that of the busy ones in width columns.
func formatQueueTable(queues []observe.Queue, wide bool, width int) string {
	if wide {
		return formatTable(tableRows(queueColumns(nil), wide, queues))
	}
	return formatBusyTable(queues, width)
}

// formatBusyTable shows the queues that had work, deepest first and then by name, without those
// of the API server itself that are idle.
func formatBusyTable(queues []observe.Queue, width int) string {
	shown := busyQueues(queues)
	busy, internal, several := len(shown), 0, map[string]int{}
	for _, q := range queues {
		several[q.Controller]++
		switch {
		case q.Pending() > 0 && !q.Outside:
		case IsInternal(q.Controller):
			internal++
		case q.Adds > 0 || q.Outside:
			shown = append(shown, q)
		}
	}
	rows := tableRows(queueColumns(several), false, shown)
	sortByName(rows[1+busy:])
	cutLabels(rows, width)
	text := formatTable(rows)
	if internal > 0 && text != "" {
		text += "and " + CountNoun(internal, "idle queue") + " of the API server itself: -o wide shows them\n"
	}
	return text
}

// queueLabel returns the short name of a controller and, if it has several, of the queue.
func queueLabel(q observe.Queue, several bool) string {
	label := ShortName(q.Controller)
	switch queue := ShortQueue(q.Controller, q.Name); {
	case q.Controller == "":
		label = q.Name
	case several && queue != "":
		label += " " + queue
	}
	return words.OneLine(label)
}

// formatWorkers formats a number of workers, of which 0 is unknown.
func formatWorkers(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// formatDelayed formats a number of delayed keys, of which -1 is unknown.
func formatDelayed(n int64) string {
	if n < 0 {
		return ""
	}
	return formatAtMost(n)
}
