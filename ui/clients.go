package ui

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// maxWatched is the number of watched resources that a table names.
const maxWatched = 3

// WriteClients writes a table of clients, with all columns if wide is set. Without, it fits width columns, and
// lines below it say which reads are refused, and which clients share a connection.
func WriteClients(w io.Writer, list []observe.Client, wide bool, width int) error {
	text := strings.TrimPrefix(formatClients(list, wide, width, time.Now()), "\n")
	var notes []string
	for _, c := range list {
		if c.Refused != "" {
			notes = append(notes, describeRefused(c))
		}
	}
	for _, note := range append(notes, describeSharing(list)...) {
		if !wide {
			text += strings.Join(words.Wrap(words.OneLine(note), width-len("  ")), "\n  ") + "\n"
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// describeRefused says which reads are refused to a client.
func describeRefused(c observe.Client) string { return c.Name + ": " + c.Refused }

// describeSharing says which clients share the connection of one that watches, once for each process.
func describeSharing(list []observe.Client) (notes []string) {
	said := map[string]bool{}
	for _, c := range list {
		if len(c.Watches) == 0 || len(c.SharesConnection) == 0 || said[c.Name] {
			continue
		}
		var programs []string
		for _, name := range c.SharesConnection {
			said[name] = true
			programs = append(programs, observe.ProgramOf(name))
		}
		notes = append(notes, c.Name+" shares its connection with "+words.And(programs)+": most likely one process")
	}
	return notes
}

// formatClients is the table of clients: all columns if wide is set, otherwise those that
// are worth most, in width columns.
func formatClients(list []observe.Client, wide bool, width int, now time.Time) string {
	if wide {
		return formatTable(tableRows(clientColumns(now, math.MaxInt), wide, list))
	}
	var rows [][]string
	for watched := maxWatched; watched > 0; watched-- {
		rows = tableRows(clientColumns(now, watched), wide, list)
		if text := formatTable(rows); fits(text, width) {
			return text
		}
	}
	if text := formatWrapped(rows, width, minLastRequest); fits(text, width) {
		return text
	}
	return formatClientsBelow(list, rows, width)
}

// minLastRequest is the least width of the column of last requests.
const minLastRequest = 20

// clientTexts is the number of columns, the last ones, that have the texts of clients.
const clientTexts = 2

// clientColumns are the columns of the tables of clients, which name at most so many watched resources.
func clientColumns(now time.Time, watched int) []column[observe.Client] {
	type client = observe.Client
	return []column[client]{
		{"CLIENT", narrowOnly, func(c client) string { return nameWithState(&c, now) }},
		{"CLIENT", wideOnly, func(c client) string { return c.Name }},
		{"STATE", wideOnly, func(c client) string { return clientState(&c, now) }},
		{"REQ/S", always, func(c client) string { return formatRate(c.RequestRate) }},
		{"REQUESTS", wideOnly, func(c client) string { return formatInt(c.Requests) }},
		{"READS", wideOnly, func(c client) string { return formatInt(c.Reads) }},
		{"WRITES", wideOnly, func(c client) string { return formatInt(c.Changes) }},
		{"ERRORS", always, func(c client) string { return formatInt(c.Errors) }},
		{"CONFLICTS", always, func(c client) string { return formatInt(c.Conflicts) }},
		{"IN FLIGHT", wideOnly, func(c client) string { return formatInt(c.InFlight) }},
		{"HELD", wideOnly, func(c client) string { return strconv.Itoa(c.Held) }},
		{"WATCHES", always, func(c client) string { return DescribeWatches(c.Watches, watched) }},
		{"LAST REQUEST", always, DescribeLastRequest},
		{"AGO", wideOnly, func(c client) string { return sinceLastRequest(&c, now) }},
		{"WHY", wideOnly, describeClientTrouble},
	}
}

// nameWithState is the name of a client, and whether it is paused or has left.
func nameWithState(c *observe.Client, now time.Time) string {
	switch {
	case c.State == observe.StatePaused:
		return c.Name + ", paused"
	case !c.WatchEnded.IsZero() && c.IsSilent(now):
		return c.Name + ", not connected"
	}
	return c.Name
}

// formatClientsBelow is the table of clients with names that leave no room for other texts:
// these are in lines below each.
func formatClientsBelow(list []observe.Client, rows [][]string, width int) string {
	for i, row := range rows {
		rows[i] = row[:len(row)-clientTexts]
	}
	lines := strings.SplitAfter(strings.TrimPrefix(formatTable(rows), "\n"), "\n")
	var b strings.Builder
	b.WriteString("\n" + lines[0])
	for i, c := range list {
		b.WriteString(lines[i+1])
		for _, text := range []struct{ label, is string }{
			{"last request: ", DescribeLastRequest(c)}, {"watches: ", DescribeWatches(c.Watches, len(c.Watches))},
		} {
			if text.is == "" {
				continue
			}
			for n, part := range words.Wrap(text.label+words.OneLine(text.is), width-len("    ")) {
				b.WriteString(map[bool]string{true: "  ", false: "    "}[n == 0] + part + "\n")
			}
		}
	}
	return b.String()
}

// clientState returns the state of a client, as far as its process is known to run.
func clientState(c *observe.Client, now time.Time) string {
	if c.State == observe.StateRunning && c.IsSilent(now) {
		return "not connected for " + words.Duration(now.Sub(c.LastActive()))
	}
	return c.State
}

// sinceLastRequest is how long ago a client's last request was; empty if it has sent none.
func sinceLastRequest(c *observe.Client, now time.Time) string {
	if c.Last == nil {
		return ""
	}
	return words.Duration(max(now.Sub(c.LastTime), 0))
}

// describeClientTrouble says what the client is refused or lacks, and which intervention it has; empty if all is well.
func describeClientTrouble(c observe.Client) string {
	return strings.Join(slices.DeleteFunc([]string{c.Reason, c.Refused, describeDropped(c)}, isEmpty), "; ")
}

// describeDropped says how much of what a client reports about its controllers was
// dropped; empty if nothing was.
func describeDropped(c observe.Client) string {
	var parts []string
	if c.ReportsDropped > 0 {
		parts = append(parts, "dropped "+CountNoun(c.ReportsDropped, "record")+" of its controllers: causes may be missing")
	}
	if c.ControllersLeftOut > 0 {
		parts = append(parts, CountNoun(c.ControllersLeftOut, "more controller")+" left out: the limit is reached")
	}
	return strings.Join(parts, "; ")
}

func isEmpty(s string) bool { return s == "" }

// DescribeWatches names the watched resources, at most so many; empty if there is none. Those of
// two groups with the same plural are named with their groups.
func DescribeWatches(watches []observe.ClientWatch, most int) string {
	counts, groups := map[string]int{}, map[string]int{}
	var names []string
	for _, w := range watches {
		if counts[w.Resource]++; counts[w.Resource] == 1 {
			names = append(names, w.Resource)
			groups[plural(w.Resource)]++
		}
	}
	more := max(len(names)-most, 0)
	names = names[:len(names)-more]
	for i, name := range names {
		if groups[plural(name)] == 1 {
			names[i] = plural(name)
		}
		if n := counts[name]; n > 1 {
			names[i] += fmt.Sprintf("×%d", n)
		}
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("+%d", more))
	}
	return strings.Join(names, " ")
}

// plural returns RESOURCE of RESOURCE.GROUP.
func plural(resource string) string {
	name, _, _ := strings.Cut(resource, ".")
	return name
}

// DescribeLastRequest describes a client's last request: "patch sites.example.com shop/shop 200".
func DescribeLastRequest(c observe.Client) string {
	if c.Last == nil {
		return ""
	}
	request, status := describeRequest(c.Last, observe.Object.GroupResource, func(status int) string { return fmt.Sprintf("%d %s", status, failureText(c.Last)) })
	return request + " " + status
}

// failureText says in a few words why a request has failed. Of the reasons for 409 only one is a conflict that is counted as such.
func failureText(l *observe.Called) string {
	switch {
	case l.Status == http.StatusConflict && strings.Contains(l.Error, "Apply failed with "): // upstream's message
		return "fields of another manager"
	case l.Status == http.StatusConflict && strings.Contains(l.Error, "already exists"):
		return "Already Exists"
	}
	return http.StatusText(l.Status)
}

// ShortRequest describes a request without the API group and the text of the status, which it returns separately: "patch sites
// shop/shop", "404".
func ShortRequest(l *observe.Called) (request, status string) {
	return describeRequest(l, func(o observe.Object) string { return o.Resource }, strconv.Itoa)
}

func describeRequest(l *observe.Called, resource func(observe.Object) string, failure func(int) string) (request, status string) {
	what := resource(l.Object)
	if l.Subresource != "" {
		what += "/" + l.Subresource
	}
	if key := l.Object.Key(); l.Object.Name != "" {
		what += " " + key
	}
	status = "no answer"
	switch {
	case l.Conflict:
		status = "conflict"
	case l.Status >= http.StatusBadRequest:
		status = failure(l.Status)
	case l.Status > 0:
		status = strconv.Itoa(l.Status)
	}
	return l.Verb + " " + what, status
}

// serviceAccount is the user of a client's name.
var serviceAccount = regexp.MustCompile(`\(system:serviceaccount:([^:()]+):([^:()]+)\)`)

// ShortClientName is the name of a client with a ServiceAccount as NAMESPACE/NAME: "shop-operator (shop/operator)".
func ShortClientName(name string) string { return serviceAccount.ReplaceAllString(name, "($1/$2)") }
