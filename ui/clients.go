package ui

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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
		return formatTable(wideClientRows(list, now))
	}
	numbers, texts := clientColumns(list, now)
	for watched := maxWatched; watched > 0; watched-- {
		rows := make([][]string, len(numbers))
		for i := range rows {
			rows[i] = slices.Concat(numbers[i], texts(i, watched))
		}
		if text := formatTable(rows); fits(text, width) {
			return text
		}
	}
	if text := formatClientsWrapped(numbers, texts, width); fits(text, width) {
		return text
	}
	return formatClientsBelow(list, numbers, width)
}

// minLastRequest is the least width of the column of last requests.
const minLastRequest = 20

// formatClientsWrapped is the table of clients with last requests that are wrapped.
func formatClientsWrapped(numbers [][]string, texts func(row, watched int) []string, width int) string {
	room := width
	for i := range len(numbers[0]) + 1 {
		widest := 0
		for row := range numbers {
			cell := append(slices.Clone(numbers[row]), texts(row, 1)[0])[i]
			widest = max(widest, utf8.RuneCountInString(words.OneLine(cell)))
		}
		room -= widest + len("  ")
	}
	var rows [][]string
	for i := range numbers {
		text := texts(i, 1)
		for n, part := range words.Wrap(words.OneLine(cmp.Or(text[1], "-")), max(room, minLastRequest)) {
			row := append(slices.Clone(numbers[i]), cmp.Or(text[0], "-"), part)
			if n > 0 {
				row = append(make([]string, len(numbers[i])+1), part)
			}
			rows = append(rows, row)
		}
	}
	return alignTable(rows)
}

// clientColumns returns the columns of names and numbers of the table of clients, and those
// of what each watches, so many resources, and has last requested.
func clientColumns(list []observe.Client, now time.Time) (numbers [][]string, texts func(row, watched int) []string) {
	numbers = [][]string{{"CLIENT", "REQ/S", "ERRORS", "CONFLICTS"}}
	for _, c := range list {
		name := c.Name
		switch {
		case c.State == observe.StatePaused:
			name += ", paused"
		case !c.WatchEnded.IsZero() && c.IsSilent(now):
			name += ", not connected"
		}
		numbers = append(numbers, []string{name, formatRate(c.RequestRate), formatInt(c.Errors), formatInt(c.Conflicts)})
	}
	return numbers, func(row, watched int) []string {
		if row == 0 {
			return []string{"WATCHES", "LAST REQUEST"}
		}
		c := list[row-1]
		return []string{DescribeWatches(c.Watches, watched), DescribeLastRequest(c)}
	}
}

// formatClientsBelow is the table of clients with names that leave no room for other texts:
// these are in lines below each.
func formatClientsBelow(list []observe.Client, numbers [][]string, width int) string {
	lines := strings.SplitAfter(strings.TrimPrefix(formatTable(numbers), "\n"), "\n")
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

// fits reports whether each line of a text has at most width columns.
func fits(text string, width int) bool {
	for l := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.TrimRight(l, " \n")) > width {
			return false
		}
	}
	return true
}

func wideClientRows(list []observe.Client, now time.Time) [][]string {
	rows := [][]string{{"CLIENT", "STATE", "REQ/S", "REQUESTS", "READS", "WRITES", "ERRORS", "CONFLICTS", "IN FLIGHT", "HELD", "WATCHES", "LAST REQUEST", "AGO", "WHY"}}
	for _, c := range list {
		ago := ""
		if c.Last != nil {
			ago = words.Duration(max(now.Sub(c.LastTime), 0))
		}
		rows = append(rows, []string{c.Name, clientState(&c, now), formatRate(c.RequestRate), formatInt(c.Requests), formatInt(c.Reads), formatInt(c.Changes), formatInt(c.Errors), formatInt(c.Conflicts),
			formatInt(c.InFlight), strconv.Itoa(c.Held), DescribeWatches(c.Watches, len(c.Watches)), DescribeLastRequest(c), ago, strings.Join(slices.DeleteFunc([]string{c.Reason, c.Refused, describeDropped(c)}, isEmpty), "; ")})
	}
	return rows
}

// clientState returns the state of a client, as far as its process is known to run.
func clientState(c *observe.Client, now time.Time) string {
	if c.State == observe.StateRunning && c.IsSilent(now) {
		return "not connected for " + words.Duration(now.Sub(c.LastActive()))
	}
	return c.State
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
	request, status := describeRequest(c.Last, observe.Object.GroupResource, func(status int) string { return fmt.Sprintf("%d %s", status, http.StatusText(status)) })
	return request + " " + status
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
