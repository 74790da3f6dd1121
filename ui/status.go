package ui

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

const maxFailing = 3 // failing keys shown per controller

// WriteStatus writes a snapshot: a headline, what is wrong, then the queues that had work, the clients,
// and the controllers that are off, as tables that fit width columns; with wide set, all queues and
// numbers. objects is text about objects that are not healthy, which follows the controllers with problems.
func WriteStatus(w io.Writer, s observe.Snapshot, objects string, wide bool, width int) error {
	queues, states := formatBusyTable, formatStates
	if wide {
		queues = func(s observe.Snapshot, _ int) string { return formatTable(wideRows(s.Queues)) }
		states = func(rows [][]string, _ int) string { return formatTable(rows) }
	}
	_, err := io.WriteString(w, formatHeadline(s, width)+states(clientTroubleRows(s), width)+states(troubleRows(s), width)+objects+
		queues(s, width)+formatClients(s.Clients, wide, width, s.Time)+states(offRows(s), width))
	return err
}

// formatHeadline summarizes the control plane in one sentence. It is broken between its
// parts where it is longer than width.
func formatHeadline(s observe.Snapshot, width int) string {
	p := s.Process
	var is []string
	if p.State != "" {
		is = append(is, string(p.State))
	}
	if p.State == "" || p.State == observe.Ready {
		is = append(is, summarizeActivity(s))
	}
	parts := []string{strings.Join(is, " and ")}
	if p.Speed != "" && p.Speed != observe.SpeedFull {
		parts = append(parts, "speed "+p.Speed.String())
	}
	if p.Kubernetes != "" {
		parts = append(parts, "Kubernetes "+p.Kubernetes)
	}
	if up := s.Time.Sub(p.Started); !p.Started.IsZero() && up > 0 {
		parts = append(parts, "up "+formatUptime(up))
	}
	if p.MemoryBytes > 0 {
		parts = append(parts, fmt.Sprintf("%d MiB memory", p.MemoryBytes>>20))
	}
	if changed := summarizeInterventions(s); changed != "" {
		parts = append(parts, changed)
	}
	name := p.Name
	if name == "" {
		name = "control plane"
	}
	first, rest, _ := strings.Cut(parts[0], "; ")
	if rest != "" {
		parts = append([]string{first, rest}, parts[1:]...)
	}
	lines := words.Wrap(words.OneLine(name+" is "+parts[0]), width-1)
	for _, part := range parts[1:] {
		part = words.OneLine(part)
		if last := &lines[len(lines)-1]; len(*last)+len("; ")+len(part) < width {
			*last += "; " + part
			continue
		}
		lines[len(lines)-1] += ";"
		lines = append(lines, words.Wrap(part, width-len("  "))...)
	}
	return strings.Join(lines, "\n  ") + "\n"
}

const (
	maxStatusWidth = 100 // and of a terminal that does not know its width
	minStatusWidth = 80
	unlimitedWidth = math.MaxInt
)

// StatusWidth is the number of columns that tables fit: those of the terminal, within limits. What is written elsewhere is read by
// line, as by grep: each row is one.
func (m Mode) StatusWidth() int {
	if m.Width == nil {
		return unlimitedWidth
	}
	if m.Columns() == 0 {
		return maxStatusWidth
	}
	return min(max(m.Columns(), minStatusWidth), maxStatusWidth)
}

func formatUptime(d time.Duration) string {
	switch s := d.Round(time.Second); {
	case s < time.Hour:
		return words.Duration(d)
	case s < 48*time.Hour:
		return fmt.Sprintf("%d h %02d m", int(s.Hours()), int(s.Minutes())%60)
	default:
		return fmt.Sprintf("%d days", int(s.Hours())/24)
	}
}

// formatBusyTable shows the queues that had work, deepest first and then by name, without those
// of the API server itself that are idle.
func formatBusyTable(s observe.Snapshot, width int) string {
	rows := [][]string{{"CONTROLLER", "DEPTH", "IN FLIGHT", "ADDS", "DONE", "RETRIES", "WAIT P99", "WORK P99"}}
	several := map[string]int{}
	for _, q := range s.Queues {
		several[q.Controller]++
	}
	add := func(q observe.Queue) {
		rows = append(rows, []string{queueLabel(q, several[q.Controller] > 1), formatInt(q.Depth), formatInt(q.InFlight), formatInt(q.Adds), formatInt(q.Done), formatRetries(q),
			formatQuantile(q.Wait.Total.Count, q.Wait.Total.P99), formatQuantile(q.Work.Total.Count, q.Work.Total.P99)})
	}
	for _, q := range busyQueues(s.Queues) {
		add(q)
	}
	busy, internal := len(rows), 0
	for _, q := range s.Queues {
		switch {
		case q.Pending() > 0 && !q.Outside:
		case IsInternal(q.Controller):
			internal++
		case q.Adds > 0 || q.Outside:
			add(q)
		}
	}
	sortByName(rows[busy:])
	cutLabels(rows, width)
	text := formatTable(rows)
	if internal > 0 && text != "" {
		text += "and " + CountNoun(internal, "idle queue") + " of the API server itself: -o wide shows them\n"
	}
	return text
}

func sortByName(rows [][]string) {
	slices.SortStableFunc(rows, func(a, b []string) int { return cmp.Compare(a[0], b[0]) })
}

// minLabel is the width that labels keep, however wide the numbers are.
const minLabel = 16

// cutLabels cuts the first column of a table so that it fits width columns.
func cutLabels(rows [][]string, width int) {
	room := width
	for i := range rows[0][1:] {
		widest := 0
		for _, row := range rows {
			widest = max(widest, utf8.RuneCountInString(row[i+1]))
		}
		room -= widest + len("  ")
	}
	room = max(room, minLabel)
	for _, row := range rows {
		if label := []rune(row[0]); len(label) > room {
			row[0] = string(label[:room-1]) + ">"
		}
	}
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

// formatStates is a table of states, in the order of the names that it shows. Its last column is wrapped.
func formatStates(rows [][]string, width int) string {
	for _, row := range rows {
		row[0] = ShortName(row[0])
	}
	sortByName(rows[1:])
	return formatWrapped(rows, width)
}

// formatWrapped aligns rows of three columns below an empty line, and wraps the last one. A table with
// only a header is empty.
func formatWrapped(rows [][]string, width int) string {
	if len(rows) < 2 {
		return ""
	}
	var widths [2]int
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], len(words.OneLine(row[i])))
		}
	}
	var b strings.Builder
	b.WriteString("\n")
	for _, row := range rows {
		name, state := words.OneLine(row[0]), words.OneLine(row[1])
		for _, part := range words.Wrap(cmp.Or(words.OneLine(row[2]), "-"), max(width-widths[0]-widths[1]-4, 30)) {
			fmt.Fprintf(&b, "%-*s  %-*s  %s\n", widths[0], name, widths[1], state, part)
			name, state = "", ""
		}
	}
	return b.String()
}

// wideRows returns all queues with all columns.
func wideRows(queues []observe.Queue) [][]string {
	rows := [][]string{{"QUEUE", "CONTROLLER", "DEPTH", "IN FLIGHT", "WORKERS", "DELAYED", "ADDS", "GETS", "DONE", "RETRIES", "REQUEUES", "ADDS/S", "DONE/S",
		"WAIT P50", "WAIT P99", "WAIT MAX", "WORK P50", "WORK P99", "WORK MAX", "UNFINISHED", "LONGEST"}}
	for _, q := range queues {
		workers, delayed := "", ""
		if q.Workers > 0 {
			workers = strconv.Itoa(q.Workers)
		}
		if q.Delayed >= 0 {
			delayed = formatAtMost(q.Delayed)
		}
		wait, work := q.Wait.Total, q.Work.Total
		rows = append(rows, []string{q.Name, q.Controller, formatInt(q.Depth), formatInt(q.InFlight), workers, delayed,
			formatInt(q.Adds), formatInt(q.Gets), formatInt(q.Done), formatRetries(q), formatRequeues(q), formatRate(q.AddRate), formatRate(q.DoneRate),
			formatQuantile(wait.Count, wait.P50), formatQuantile(wait.Count, wait.P99), formatQuantile(wait.Count, wait.Max),
			formatQuantile(work.Count, work.P50), formatQuantile(work.Count, work.P99), formatQuantile(work.Count, work.Max),
			formatQuantile(int64(q.Unfinished), q.Unfinished), formatQuantile(int64(q.Longest), q.Longest)})
	}
	return rows
}

var stateHeading = []string{"CONTROLLER", "STATE", "WHY"}

// isOffByDesign reports whether a controller is off because of flags or feature gates, which is not a problem.
func isOffByDesign(c observe.Controller) bool {
	return c.State == observe.StateOff && !c.HasIntervention() && !observe.IsReported(c.Name) && len(c.Failing) == 0
}

// offRows returns the controllers that are off by design.
func offRows(s observe.Snapshot) [][]string {
	rows := [][]string{slices.Clone(stateHeading)}
	for _, c := range s.Controllers {
		if isOffByDesign(c) {
			rows = append(rows, []string{c.Name, c.State, c.Reason})
		}
	}
	return rows
}

// clientTroubleRows returns the clients that have an intervention or are refused what they read.
func clientTroubleRows(s observe.Snapshot) [][]string {
	rows := [][]string{slices.Clone(stateHeading)}
	rows[0][0] = "CLIENT"
	for _, c := range s.Clients {
		if c.Reason != "" {
			rows = append(rows, []string{c.Name, c.State, WithHeld(c.Reason, c.Held)})
		}
		for _, why := range []string{c.Refused, describeDropped(c)} {
			if why != "" {
				rows = append(rows, []string{c.Name, c.State, why})
			}
		}
	}
	return rows
}

// troubleRows returns the other controllers that are not running or have an intervention, and failing keys.
func troubleRows(s observe.Snapshot) [][]string {
	rows := [][]string{slices.Clone(stateHeading)}
	for _, c := range s.Controllers {
		if isOffByDesign(c) {
			continue
		}
		if c.State != observe.StateRunning && c.State != "" || c.Reason != "" {
			rows = append(rows, []string{c.Name, c.State, WithHeld(DescribeReason(c, s.Time), c.Held)})
		}
		if c.Unlisted != "" {
			rows = append(rows, []string{c.Name, "waiting", DescribeUnlisted(c.Unlisted)})
		}
		for i, f := range c.Failing {
			if i == maxFailing {
				rows = append(rows, []string{c.Name, failingState(c, observe.FailingKey{}, true), countMoreKeys(len(c.Failing) - i + c.MoreFailing)})
				break
			}
			rows = append(rows, []string{c.Name, failingState(c, f, s.Process.Settled), describeFailingKey(c.ProcessState(), f, s.Time)})
		}
	}
	return rows
}

// DescribeUnlisted says that a controller waits for a kind, and why that cannot be listed.
func DescribeUnlisted(why string) string {
	return "a kind that it needs cannot be listed: " + words.OneLine(why)
}

// DescribeReason returns the reason of a controller's state, and of an operator since when that is
// so.
func DescribeReason(c observe.Controller, now time.Time) string {
	switch state := c.ProcessState(); {
	case c.Since.IsZero() || !observe.IsReported(c.Name):
		return c.Reason
	case state == observe.StateBuilding || state == observe.StateStopping:
		return "for " + words.Duration(max(now.Sub(c.Since), 0)) + ": " + c.Reason
	case state != observe.StateOff && state != observe.StateUnknown:
		return c.Reason
	}
	return c.Reason + ", " + words.Duration(max(now.Sub(c.Since), 0)) + " ago"
}

// failingState is the state of a key whose last sync failed: "retrying" after a conflict, or a
// first failure while controllers work.
func failingState(c observe.Controller, f observe.FailingKey, settled bool) string {
	switch {
	case c.ProcessState() == observe.StateOff:
		return observe.StateOff
	case IsFailing(f, settled):
		return "failing"
	}
	return "retrying"
}

// describeFailingKey describes a key whose last sync failed, of a controller in a state:
// "site: default/shop, 3 times in a row, next attempt in 2.1 s: no luck".
func describeFailingKey(state string, f observe.FailingKey, now time.Time) string {
	text := formatSyncKey(&observe.Synced{Queue: f.Queue, Key: f.Key, KeyBasis: f.KeyBasis}) + ", "
	if state == observe.StateOff {
		text += "failed before the stop, "
	}
	text += f.HowOften()
	if next := f.NextAttempt(now); state != observe.StateOff && next != "" {
		text += ", " + next
	}
	if f.Error == "" {
		return text
	}
	return text + ": " + f.Error
}

// formatTable aligns rows below an empty line. A table with only a header is
// empty.
func formatTable(rows [][]string) string {
	if len(rows) < 2 {
		return ""
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = cmp.Or(words.OneLine(cell), "-")
		}
	}
	return alignTable(rows)
}

func alignTable(rows [][]string) string {
	var b strings.Builder
	b.WriteString("\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = words.OneLine(cell)
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	t.Flush() // writing to a strings.Builder cannot fail
	return b.String()
}

// formatInt formats a number, of which -1 is unknown.
func formatInt(n int64) string {
	if n < 0 {
		return unknownNumber
	}
	return strconv.FormatInt(n, 10)
}

// unknownNumber stands for a number that is not known, which is not 0.
const unknownNumber = "?"

// formatRate formats a rate, of which -1 is unknown.
func formatRate(n float64) string {
	if n < 0 {
		return unknownNumber
	}
	return strconv.FormatFloat(n, 'f', 1, 64)
}

// formatQuantile formats a duration in few columns. Without measurements it is
// empty.
func formatQuantile(count int64, d time.Duration) string {
	switch {
	case count == 0:
		return ""
	case d < 999500*time.Nanosecond: // what rounds to a larger unit has that
		return fmt.Sprintf("%.0fµs", max(1, float64(d)/1e3))
	case d < 9950*time.Microsecond:
		return fmt.Sprintf("%.1fms", float64(d)/1e6)
	}
	return compactDuration(d)
}
