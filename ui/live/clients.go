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

// clientsOf returns the clients that match the filter of their list.
func (m model) clientsOf(s screen) []observe.Client {
	if s.filter == "" {
		return m.snapshot.Clients
	}
	return slices.DeleteFunc(slices.Clone(m.snapshot.Clients), func(c observe.Client) bool {
		return !containsWords(words.OneLine(c.Name+" "+c.State), s.filter)
	})
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
// request.
const (
	clientRateWidth     = 6
	clientErrorWidth    = 6
	clientConflictWidth = 9
	maxClientWatchWidth = 20
	minClientWidth      = 18
)

// clientLines draws the list of clients in w columns and h rows.
func (m model) clientLines(w, h int) []string {
	s := m.currentScreen()
	focused := s.focus == upperPane
	list := m.listedClients()
	name, watches, last := m.clientWidths(w)
	tail := m.theme.ellipsis()
	head := alignLeft("CLIENT", name, tail) + alignRight("REQ/S", clientRateWidth+columnGap, tail) + alignRight("ERRORS", clientErrorWidth+columnGap, tail) +
		alignRight("CONFLICTS", clientConflictWidth+columnGap, tail) + spaces(columnGap) + alignLeft("WATCHES", watches, tail)
	if last > 0 {
		head += spaces(columnGap) + alignLeft("LAST REQUEST", last, tail)
	}
	state := ui.CountNoun(len(m.snapshot.Clients), "program") + " outside of the control plane"
	if s.filter != "" {
		state = "/" + s.filter + ", " + state
	}
	lines := []string{
		m.titleLine("Clients", state, focused, w),
		m.theme.renderLine(line{{spaces(tableMargin) + head, faint}}, w, false),
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
		lines = append(lines, m.theme.renderLine(append(m.cursorMark(selected), m.clientRow(list[i], name, watches, last)...), w, selected))
	}
	return lines
}

// clientWidths returns the widths of the name, of the watches, and of the last request, which is left out
// where space is missing.
func (m model) clientWidths(w int) (name, watches, last int) {
	watches = len("WATCHES")
	for _, c := range m.snapshot.Clients {
		name = max(name, textWidth(words.OneLine(c.Name)))
		watches = max(watches, textWidth(m.watchesText(c)))
	}
	watches = min(watches, maxClientWatchWidth)
	rest := w - tableMargin - clientRateWidth - clientErrorWidth - clientConflictWidth - watches - 4*columnGap
	if rest < 2*minClientWidth+columnGap {
		return max(min(name, rest), minClientWidth), watches, 0
	}
	name = max(min(name, rest-columnGap-minClientWidth), minClientWidth)
	return name, watches, rest - columnGap - name
}

func (m model) watchesText(c observe.Client) string {
	text := words.OneLine(ui.DescribeWatches(c.Watches, 2))
	if m.theme.ascii {
		text = strings.ReplaceAll(text, "×", "x")
	}
	return text
}

func (m model) clientRow(c observe.Client, name, watches, last int) line {
	tail := m.theme.ellipsis()
	nameStyle := plain
	switch {
	case c.Refused != "":
		nameStyle = bad
	case c.State == statePaused || c.Reason != "":
		nameStyle = caution
	}
	number := func(n int64, w int, st style) span {
		if n == 0 {
			return span{alignRight(m.theme.zeroMark(), w, tail), faint}
		}
		return span{alignRight(formatShort(n), w, tail), st}
	}
	rate := span{alignRight(m.theme.zeroMark(), clientRateWidth+columnGap, tail), faint}
	if text := formatRate(c.RequestRate); text != "" {
		rate = span{alignRight(text, clientRateWidth+columnGap, tail), strong}
	}
	row := line{
		{alignLeft(words.OneLine(c.Name), name, tail), nameStyle}, rate,
		number(c.Errors, clientErrorWidth+columnGap, bad), number(c.Conflicts, clientConflictWidth+columnGap, caution),
		{spaces(columnGap) + alignLeft(m.watchesText(c), watches, tail), plain},
	}
	if last > 0 {
		text, style := words.OneLine(ui.DescribeLastRequest(c)), faint
		if textWidth(text) > last {
			text = words.OneLine(ui.ShortLastRequest(c))
		}
		if loops := m.loopsOf(words.OneLine(c.Name)); loops != nil {
			text, style = describeLoop(loops[0]), caution
		}
		row = append(row, span{spaces(columnGap) + alignLeft(text, last, tail), style})
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
