package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/internal/yamltext"
	"github.com/ctrlplane/ctrlplane/observe"
)

const maxFailing = 3 // failing keys shown per controller

// WriteStatus writes a snapshot as "json" or "yaml", as tables of the queues that
// had work, the clients and the controllers with problems (""), or with all queues
// and numbers ("wide").
func WriteStatus(w io.Writer, s observe.Snapshot, format string) error {
	var (
		out []byte
		err error
	)
	switch format {
	case "":
		out = []byte(formatHeadline(s) + formatTable(busyRows(s.Queues)) + formatTable(clientRows(s.Clients, false, s.Time)) + formatTable(troubleRows(s)))
	case "wide":
		out = []byte(formatHeadline(s) + formatTable(wideRows(s.Queues)) + formatTable(clientRows(s.Clients, true, s.Time)) + formatTable(troubleRows(s)))
	case "json":
		out, err = json.MarshalIndent(s, "", "  ")
		out = append(out, '\n')
	case "yaml":
		out, err = yamltext.Marshal(s)
	default:
		return CheckStatusFormat(format)
	}
	if err != nil {
		return fmt.Errorf("cannot write the status as %s: %w", format, err)
	}
	_, err = w.Write(out)
	return err
}

// CheckStatusFormat returns an error for a format that WriteStatus does not
// support.
func CheckStatusFormat(format string) error {
	switch format {
	case "", "wide", "json", "yaml":
		return nil
	}
	return fmt.Errorf("unknown output format %q: use json, yaml or wide, or omit it", format)
}

// formatHeadline summarizes the control plane in one sentence.
func formatHeadline(s observe.Snapshot) string {
	p := s.Process
	var is []string
	if p.State != "" {
		is = append(is, string(p.State))
	}
	if p.State == "" || p.State == observe.Ready {
		is = append(is, summarizeActivity(s))
	}
	parts := []string{strings.Join(is, " and ")}
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
	return words.OneLine(name+" is "+strings.Join(parts, "; ")) + "\n"
}

func formatUptime(d time.Duration) string {
	switch {
	case d < time.Hour:
		return formatDuration(d)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d m", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours())/24)
}

// busyRows returns the queues that had work, deepest first.
func busyRows(queues []observe.Queue) [][]string {
	rows := [][]string{{"QUEUE", "CONTROLLER", "DEPTH", "IN FLIGHT", "ADDS", "DONE", "RETRIES", "QUEUE P99", "WORK P99"}}
	add := func(q observe.Queue) {
		rows = append(rows, []string{q.Name, q.Controller, formatInt(q.Depth), formatInt(q.InFlight), formatInt(q.Adds), formatInt(q.Done), formatInt(q.Retries),
			formatQuantile(q.Wait.Total.Count, q.Wait.Total.P99), formatQuantile(q.Work.Total.Count, q.Work.Total.P99)})
	}
	for _, q := range busyQueues(queues) {
		add(q)
	}
	for _, q := range queues {
		if q.Pending() == 0 && q.Adds > 0 || q.Outside {
			add(q)
		}
	}
	return rows
}

// wideRows returns all queues with all columns.
func wideRows(queues []observe.Queue) [][]string {
	rows := [][]string{{"QUEUE", "CONTROLLER", "DEPTH", "IN FLIGHT", "WORKERS", "DELAYED", "ADDS", "GETS", "DONE", "RETRIES", "ADDS/S", "DONE/S",
		"QUEUE P50", "QUEUE P99", "QUEUE MAX", "WORK P50", "WORK P99", "WORK MAX", "UNFINISHED", "LONGEST"}}
	for _, q := range queues {
		workers, delayed := "", ""
		if q.Workers > 0 {
			workers = strconv.Itoa(q.Workers)
		}
		if q.Delayed >= 0 {
			delayed = formatInt(q.Delayed)
		}
		wait, work := q.Wait.Total, q.Work.Total
		rows = append(rows, []string{q.Name, q.Controller, formatInt(q.Depth), formatInt(q.InFlight), workers, delayed,
			formatInt(q.Adds), formatInt(q.Gets), formatInt(q.Done), formatInt(q.Retries), formatRate(q.AddRate), formatRate(q.DoneRate),
			formatQuantile(wait.Count, wait.P50), formatQuantile(wait.Count, wait.P99), formatQuantile(wait.Count, wait.Max),
			formatQuantile(work.Count, work.P50), formatQuantile(work.Count, work.P99), formatQuantile(work.Count, work.Max),
			formatQuantile(int64(q.Unfinished), q.Unfinished), formatQuantile(int64(q.Longest), q.Longest)})
	}
	return rows
}

// troubleRows returns the controllers that are not running or have an
// intervention, failing keys, and the clients that have an intervention.
func troubleRows(s observe.Snapshot) [][]string {
	rows := [][]string{{"CONTROLLER", "STATE", "WHY"}}
	for _, c := range s.Clients {
		if c.Reason != "" {
			rows = append(rows, []string{c.Name, c.State, c.Reason})
		}
		if why := describeDropped(c); why != "" {
			rows = append(rows, []string{c.Name, c.State, why})
		}
	}
	for _, c := range s.Controllers {
		if c.State != "running" && c.State != "" || c.Reason != "" {
			rows = append(rows, []string{c.Name, c.State, c.Reason})
		}
		for i, f := range c.Failing {
			if i == maxFailing {
				rows = append(rows, []string{c.Name, "failing", CountNoun(len(c.Failing)-i, "more key")})
				break
			}
			rows = append(rows, []string{c.Name, "failing", describeFailing(f)})
		}
	}
	return rows
}

func describeFailing(f observe.FailingKey) string {
	text := formatSyncKey(&observe.Synced{Queue: f.Queue, Key: f.Key, KeyBasis: f.KeyBasis}) + ", " + formatTimes(f.Times)
	if f.Error == "" {
		return text
	}
	return text + ": " + f.Error
}

func formatTimes(n int) string {
	if n <= 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in a row", n)
}

// formatTable aligns rows below an empty line. A table with only a header is
// empty.
func formatTable(rows [][]string) string {
	if len(rows) < 2 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if row[i] = words.OneLine(cell); row[i] == "" {
				row[i] = "-"
			}
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
	case d < time.Millisecond:
		return fmt.Sprintf("%.0fµs", max(1, float64(d)/1e3))
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", float64(d)/1e6)
	}
	return compactDuration(d)
}
