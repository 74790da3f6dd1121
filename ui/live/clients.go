package live

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// ClientIntervener is a source that can intervene in clients.
type ClientIntervener interface {
	ClientInterventions() control.Interventions
}

// openClients opens the list of clients.
func (m model) openClients() model {
	if onClients(m) {
		return m
	}
	s := m.newScreen(clientsScreen)
	s.feed.stream, m = m.newStream(s)
	return m.pushScreen(s)
}

// findClient returns the client with a sanitized name.
func (m model) findClient(name string) (observe.Client, bool) {
	for _, c := range m.snapshot.Clients {
		if words.OneLine(c.Name) == name {
			return c, true
		}
	}
	return observe.Client{}, false
}

// listedClients returns the clients of the list that is shown.
func (m model) listedClients() []observe.Client { return m.clientsOf(m.currentScreen()) }

// clientsOf returns the clients that match the filter of their list, and the picked one, on which the next key acts.
func (m model) clientsOf(s screen) []observe.Client {
	if s.filter == "" {
		return m.snapshot.Clients
	}
	return slices.DeleteFunc(slices.Clone(m.snapshot.Clients), func(c observe.Client) bool {
		return !matchesClient(c, s.filter) && words.OneLine(c.Name) != s.pickedRow
	})
}

func matchesClient(c observe.Client, filter string) bool {
	return containsWords(words.OneLine(c.Name+" "+c.State), filter)
}

// interventionsIn returns the interventions that apply to a controller or client; nil if
// there are none.
func (m model) interventionsIn(name string) control.Interventions {
	if _, is := m.findClient(name); is {
		return m.clientInterventions
	}
	return m.interventions
}

// The widths of the columns after the name, and the least of the name and of the last
// request; a last request of wantedRequest columns matters more than the end of a name.
const (
	clientRateWidth     = 6
	clientErrorWidth    = 6
	clientConflictWidth = 9
	maxClientWatchWidth = 20
	minClientWidth      = 18
	wantedRequest       = 30
)

// clientLines draws the list of clients in w columns and h rows.
func (m model) clientLines(w, h int) []string {
	s := m.currentScreen()
	focused := s.focus == upperPane
	list := m.listedClients()
	columns := m.clientColumns(w)
	state := ui.CountNoun(len(m.snapshot.Clients), "client") + " outside of the process"
	if s.filter != "" {
		state = "/" + s.filter + ", " + state
	}
	lines := []string{
		m.titleLine("Clients", state, focused, w),
		m.theme.renderLine(line{{spaces(tableMargin) + columns.heading(m.theme.ellipsis()), faint}}, w, false),
	}
	if len(list) == 0 && s.filter != "" {
		return append(lines, m.theme.renderLine(styledLine("  nothing matches the filter", faint), w, false))
	}
	if len(list) == 0 {
		return append(lines, m.theme.renderLine(styledLine("  no client has sent a request yet", faint), w, false))
	}
	l := s.view.clampToList(len(list), h-2)
	for i := l.top; i < len(list) && i < l.top+h-2; i++ {
		selected := focused && i == l.cursor
		lines = append(lines, m.theme.renderLine(append(m.cursorMark(selected), m.clientRow(list[i], columns)...), w, selected))
	}
	return lines
}

// clientColumns are the widths of the columns of the list of clients; 0 if a column is left out.
type clientColumns struct {
	name, errors, conflicts, watches, last int
	shortNames                             bool
}

func (c clientColumns) heading(tail string) string {
	head := alignLeft("CLIENT", c.name, tail) + alignRight("REQ/S", clientRateWidth+columnGap, tail) + alignRight("ERRORS", c.errors, tail) + alignRight("CONFLICTS", c.conflicts, tail)
	if c.watches > 0 {
		head += spaces(columnGap) + alignLeft("WATCHES", c.watches, tail)
	}
	if c.last > 0 {
		head += spaces(columnGap) + alignLeft("LAST REQUEST", c.last, tail)
	}
	return head
}

// clientColumns lays out the list in w columns. Who a client is, and what its last request was about and how it was answered,
// matter most: where space is missing, users are shortened, and what the clients watch is left out, and columns without a
// number always are.
func (m model) clientColumns(w int) (c clientColumns) {
	full, short, request := 0, 0, len("LAST REQUEST")
	for _, client := range m.snapshot.Clients {
		full = max(full, textWidth(words.OneLine(client.Name)))
		short = max(short, textWidth(words.OneLine(ui.ShortClientName(client.Name))))
		request = max(request, textWidth(m.shortRequest(client).String()))
		if len(client.Watches) > 0 {
			c.watches = min(max(c.watches, len("WATCHES"), textWidth(m.watchesText(client))), maxClientWatchWidth)
		}
		if client.Errors > 0 {
			c.errors = clientErrorWidth + columnGap
		}
		if client.Conflicts > 0 {
			c.conflicts = clientConflictWidth + columnGap
		}
	}
	room := w - tableMargin - clientRateWidth - columnGap - c.errors - c.conflicts // of names, watches and last requests
	c.name = full
	if spare := room - full - columnGap - request; spare < c.watches+columnGap && short < full {
		c.name, c.shortNames = short, true
	}
	if spare := room - c.name - 2*columnGap - request; spare < len("WATCHES") {
		c.watches = 0
	} else {
		c.watches = min(c.watches, spare)
	}
	if c.watches > 0 {
		room -= c.watches + columnGap
	}
	c.name = max(min(c.name, room-columnGap-min(request, wantedRequest)), minClientWidth)
	if c.last = room - columnGap - c.name; c.last < minClientWidth {
		c.name, c.last = max(min(short, room), minClientWidth), 0
		c.shortNames = true
	}
	return c
}

// requestText is a request of a client and how it was answered. If it does not fit, the request is cut.
type requestText struct{ request, status string }

func (t requestText) String() string { return strings.TrimSpace(t.request + " " + t.status) }

func (t requestText) fit(w int, tail string) string {
	if textWidth(t.String()) <= w {
		return t.String()
	}
	return truncate(t.request, max(w-textWidth(t.status)-1, 0), tail) + " " + t.status
}

// shortRequest describes the write of a client that fails again and again or, without one, its last request.
func (m model) shortRequest(c observe.Client) (t requestText) {
	last := c.Last
	f, fails := m.failingWrite(c.Name)
	if fails {
		last = &observe.Called{Verb: f.Verb, Object: f.Object, Subresource: f.Subresource, Status: f.Status, Conflict: f.Conflict}
	}
	if last == nil {
		return t
	}
	request, status := ui.ShortRequest(last)
	if fails {
		status += " " + m.theme.pickGlyph("×", "x") + ui.GroupDigits(f.Times)
	}
	return requestText{words.OneLine(request), words.OneLine(status)}
}

// failingWrite returns the write of a client that fails most often in a row, if one does.
func (m model) failingWrite(client string) (observe.FailingWrite, bool) {
	for _, p := range m.snapshot.Problems {
		for _, w := range p.Writes {
			if w.Controller == client {
				return w, true
			}
		}
	}
	return observe.FailingWrite{}, false
}

// describeRequest describes the last request of a client in w columns or, as these matter more, its hot loop or the write that
// fails.
func (m model) describeRequest(c observe.Client, w int) (string, style) {
	if loops := m.loopsOf(words.OneLine(c.Name)); loops != nil {
		return describeLoop(loops[0]), caution
	}
	tail := m.theme.ellipsis()
	if _, fails := m.failingWrite(c.Name); fails {
		return m.shortRequest(c).fit(w, tail), bad
	}
	if text := words.OneLine(ui.DescribeLastRequest(c)); textWidth(text) <= w {
		return text, faint
	}
	return m.shortRequest(c).fit(w, tail), faint
}

func (m model) watchesText(c observe.Client) string {
	text := words.OneLine(ui.DescribeWatches(c.Watches, 2))
	if m.theme.ascii {
		text = strings.ReplaceAll(text, "×", "x")
	}
	return text
}

func (m model) clientRow(c observe.Client, columns clientColumns) line {
	tail := m.theme.ellipsis()
	nameStyle := plain
	switch {
	case c.Refused != "":
		nameStyle = bad
	case c.State == statePaused || c.Reason != "":
		nameStyle = caution
	}
	number := func(n int64, w int, st style) span {
		if w > 0 && n == 0 {
			return span{alignRight(m.theme.zeroMark(), w, tail), faint}
		}
		return span{alignRight(formatShort(n), w, tail), st}
	}
	rate := span{alignRight(m.theme.zeroMark(), clientRateWidth+columnGap, tail), faint}
	if text := formatRate(c.RequestRate); text != "" {
		rate = span{alignRight(text, clientRateWidth+columnGap, tail), strong}
	}
	name := c.Name
	if columns.shortNames {
		name = ui.ShortClientName(name)
	}
	row := line{{alignLeft(words.OneLine(name), columns.name, tail), nameStyle}, rate, number(c.Errors, columns.errors, bad), number(c.Conflicts, columns.conflicts, caution)}
	if columns.watches > 0 {
		row = append(row, span{spaces(columnGap) + alignLeft(m.watchesText(c), columns.watches, tail), plain})
	}
	if columns.last > 0 {
		text, style := m.describeRequest(c, columns.last)
		row = append(row, span{spaces(columnGap) + alignLeft(text, columns.last, tail), style})
	}
	return row
}

// addClientDetails adds the details of a client.
func (m model) addClientDetails(s *detailBuilder, c observe.Client) {
	s.addField("user", words.OneLine(c.User))
	s.addField("user agent", words.OneLine(c.UserAgent))
	state := line{{words.OneLine(c.State), stateStyle(c.State)}}
	if c.Reason != "" {
		state = append(state, span{": " + words.OneLine(c.Reason), plain})
	}
	s.addEntry("state", 0, state)
	if c.Refused != "" {
		s.addEntry("refused", 0, styledLine(words.OneLine(c.Refused), bad))
	}
	m.addLoops(s, words.OneLine(c.Name))
	if _, fails := m.failingWrite(c.Name); fails {
		s.addEntry("fails", 0, styledLine(m.shortRequest(c).String(), bad))
	}
	if m.inProgress != "" {
		s.addEntry("", 0, styledLine(m.inProgress+m.theme.ellipsis(), accent))
	}
	s.addField("totals", fmt.Sprintf("%s (%s/s), %s, %s, %s, %s", ui.CountNoun(c.Requests, "request"), strconv.FormatFloat(c.RequestRate, 'f', 1, 64),
		ui.CountNoun(c.Reads, "read"), ui.CountNoun(c.Changes, "write"), ui.CountNoun(c.Errors, "error"), ui.CountNoun(c.Conflicts, "conflict")))
	if c.Last != nil {
		s.addField("last", words.OneLine(ui.DescribeLastRequest(c))+", "+formatAge(m.snapshot.Time.Sub(c.LastTime))+" ago")
	}
	if len(c.SharesConnection) > 0 {
		s.addField("process", "most likely that of "+words.OneLine(words.And(c.SharesConnection))+", too: they share a connection")
	}
	for i, w := range c.Watches {
		what := w.Resource
		for _, limit := range []string{w.Namespace, w.Name, w.LabelSelector, w.FieldSelector} {
			if limit != "" {
				what += " " + limit
			}
		}
		events := ui.CountNoun(w.Delivered, "event")
		if w.Delivered < 0 {
			events = "its events are not seen"
		}
		s.addEntry("watches", i, line{{words.OneLine(what), plain}, {"  " + events + ", open for " + formatAge(m.snapshot.Time.Sub(w.Since)), faint}})
	}
	if len(c.Watches) == 0 {
		s.addField("watches", "none")
	}
}
