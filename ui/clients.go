package ui

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// maxWatched is the number of watched resources that a table names.
const maxWatched = 3

// WriteClients writes a table of clients, with all columns if wide is set.
func WriteClients(w io.Writer, list []observe.Client, wide bool) error {
	text := formatTable(clientRows(list, wide, time.Now()))
	_, err := io.WriteString(w, strings.TrimPrefix(text, "\n"))
	return err
}

// clientRows returns the rows of the table of clients: those that are worth most, in 100
// columns for names of common length.
func clientRows(list []observe.Client, wide bool, now time.Time) [][]string {
	head := []string{"CLIENT", "REQ/S", "ERRORS", "CONFLICTS", "LAST REQUEST", "WATCHES"}
	if wide {
		head = []string{"CLIENT", "STATE", "REQ/S", "REQUESTS", "READS", "WRITES", "ERRORS", "CONFLICTS", "IN FLIGHT", "HELD", "WATCHES", "LAST REQUEST", "AGO", "WHY"}
	}
	rows := [][]string{head}
	for _, c := range list {
		name := c.Name
		if c.State == "paused" {
			name += ", paused"
		}
		row := []string{name, formatRate(c.RequestRate), formatInt(c.Errors), formatInt(c.Conflicts), DescribeLastRequest(c), DescribeWatches(c.Watches, maxWatched)}
		if wide {
			ago := ""
			if c.Last != nil {
				ago = formatDuration(max(now.Sub(c.LastTime), 0))
			}
			row = []string{c.Name, c.State, formatRate(c.RequestRate), formatInt(c.Requests), formatInt(c.Reads), formatInt(c.Changes), formatInt(c.Errors), formatInt(c.Conflicts),
				formatInt(c.InFlight), strconv.Itoa(c.Held), DescribeWatches(c.Watches, len(c.Watches)), DescribeLastRequest(c), ago, strings.Join(slices.DeleteFunc([]string{c.Reason, describeDropped(c)}, isEmpty), "; ")}
		}
		rows = append(rows, row)
	}
	return rows
}

// describeDropped says how much of what a client reports about its controllers was
// dropped; empty if nothing was.
func describeDropped(c observe.Client) string {
	if c.ReportsDropped == 0 {
		return ""
	}
	return "dropped " + CountNoun(int(c.ReportsDropped), "record") + " of its controllers: causes may be missing"
}

func isEmpty(s string) bool { return s == "" }

// DescribeWatches names the watched resources, at most so many; empty if there is none.
func DescribeWatches(watches []observe.ClientWatch, most int) string {
	counts := map[string]int{}
	var names []string
	for _, w := range watches {
		name, _, _ := strings.Cut(w.Resource, ".")
		if counts[name]++; counts[name] == 1 {
			names = append(names, name)
		}
	}
	more := max(len(names)-most, 0)
	names = names[:len(names)-more]
	for i, name := range names {
		if n := counts[name]; n > 1 {
			names[i] = fmt.Sprintf("%s×%d", name, n)
		}
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("+%d", more))
	}
	return strings.Join(names, " ")
}

// DescribeLastRequest describes a client's last request: "patch sites shop/shop 200".
func DescribeLastRequest(c observe.Client) string {
	if c.Last == nil {
		return ""
	}
	l := c.Last
	what := l.Object.Resource
	if l.Subresource != "" {
		what += "/" + l.Subresource
	}
	if key := l.Object.Key(); l.Object.Name != "" {
		what += " " + key
	}
	status := "no answer"
	switch {
	case l.Conflict:
		status = "conflict"
	case l.Status >= http.StatusBadRequest:
		status = fmt.Sprintf("%d %s", l.Status, http.StatusText(l.Status))
	case l.Status > 0:
		status = strconv.Itoa(l.Status)
	}
	return l.Verb + " " + what + " " + status
}
