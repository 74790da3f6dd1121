package ui

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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

// clientRows returns the rows of the table of clients: all columns if wide is set, otherwise
// those that are worth most, in statusWidth columns.
func clientRows(list []observe.Client, wide bool, now time.Time) [][]string {
	if wide {
		return wideClientRows(list, now)
	}
	for watched := maxWatched; ; watched-- {
		rows := [][]string{{"CLIENT", "REQ/S", "ERRORS", "CONFLICTS", "WATCHES", "LAST REQUEST"}}
		for _, c := range list {
			name := c.Name
			if c.State == "paused" {
				name += ", paused"
			}
			rows = append(rows, []string{name, formatRate(c.RequestRate), formatInt(c.Errors), formatInt(c.Conflicts), DescribeWatches(c.Watches, watched), DescribeLastRequest(c)})
		}
		if room := roomForLast(rows); room >= minLastRequest || watched == 0 {
			cutLast(rows, max(room, len("LAST REQUEST")))
			return rows
		}
	}
}

// minLastRequest is the width for a last request that is worth to name fewer watches.
const minLastRequest = 24

// roomForLast returns how wide the last column of a table may be.
func roomForLast(rows [][]string) int {
	room := statusWidth
	for i := range len(rows[0]) - 1 {
		widest := 0
		for _, row := range rows {
			widest = max(widest, utf8.RuneCountInString(row[i]))
		}
		room -= widest + len("  ")
	}
	return room
}

// cutLast cuts the last column of a table.
func cutLast(rows [][]string, room int) {
	for _, row := range rows {
		if last := []rune(row[len(row)-1]); len(last) > room {
			row[len(row)-1] = string(last[:room-1]) + ">"
		}
	}
}

func wideClientRows(list []observe.Client, now time.Time) [][]string {
	rows := [][]string{{"CLIENT", "STATE", "REQ/S", "REQUESTS", "READS", "WRITES", "ERRORS", "CONFLICTS", "IN FLIGHT", "HELD", "WATCHES", "LAST REQUEST", "AGO", "WHY"}}
	for _, c := range list {
		ago := ""
		if c.Last != nil {
			ago = formatDuration(max(now.Sub(c.LastTime), 0))
		}
		rows = append(rows, []string{c.Name, c.State, formatRate(c.RequestRate), formatInt(c.Requests), formatInt(c.Reads), formatInt(c.Changes), formatInt(c.Errors), formatInt(c.Conflicts),
			formatInt(c.InFlight), strconv.Itoa(c.Held), DescribeWatches(c.Watches, len(c.Watches)), DescribeLastRequest(c), ago, strings.Join(slices.DeleteFunc([]string{c.Reason, describeDropped(c)}, isEmpty), "; ")})
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
