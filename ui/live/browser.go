package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// Browser is a source that can list objects.
type Browser interface {
	// List returns the objects of a kind, as kubectl names it.
	List(ctx context.Context, kind string) (health.Listing, error)
	ui.Describer
}

// browseInterval is how often the objects are listed again.
const browseInterval = 2 * time.Second

// browseResult is the message with a listing.
type browseResult struct {
	kind    string
	listing health.Listing
	err     error
}

// unlistable says why objects cannot be listed here; empty if they can.
func (m model) unlistable() string {
	switch {
	case m.past != nil && m.source == nil:
		return "a recording has no objects"
	case m.past != nil:
		return m.pastReason("objects cannot be listed")
	case m.browser == nil:
		return "this source has no objects: it provides metrics only"
	}
	return ""
}

// enterKind lists the objects of the typed kind. One can be typed also where none can be listed, as
// the letters would act as keys otherwise.
func (m model) enterKind(text string) (model, tea.Cmd) {
	kind := strings.TrimSpace(text)
	if m.message = m.unlistable(); kind != "" && m.message == "" {
		return m.openBrowser(kind)
	}
	return m, nil
}

// openBrowser opens the list of the objects of a kind.
func (m model) openBrowser(kind string) (model, tea.Cmd) {
	s := m.newScreen(browserScreen)
	s.browsed, s.upperShare = kind, 70
	s.feed.stream, m = m.newStream(s)
	m = m.openOverlay(noOverlay).pushScreen(s)
	m.browsing = true
	return m, m.browseCmd(kind)
}

// needsBrowsing reports whether to list the objects of the current screen now.
func (m model) needsBrowsing() bool {
	s := m.currentScreen()
	return s.kind == browserScreen && m.past == nil && !m.browsing && !m.frozen && m.now.Sub(s.browsedAt) >= browseInterval
}

func (m model) browseCmd(kind string) tea.Cmd {
	outer, browser := m.ctx, m.browser
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(outer, pullTimeout)
		defer cancel()
		listing, err := browser.List(ctx, kind)
		return browseResult{kind, listing, err}
	}
}

// applyBrowse applies a listing to the screens of its kind. The cursor stays on its
// object.
func (m model) applyBrowse(r browseResult) model {
	m.browsing = false
	m.screens = slices.Clone(m.screens)
	for i := range m.screens {
		s := &m.screens[i]
		if s.kind != browserScreen || s.browsed != r.kind {
			continue
		}
		s.browsedAt, s.inspectError = m.now, ""
		if r.err != nil { // the last listing stays for the next one
			s.inspectError = words.OneLine(r.err.Error())
			continue
		}
		s.listing = &r.listing
		m = m.followPickedLine(i)
	}
	return m
}

// browsedItems returns the objects of the current screen that match its filter; none in the past,
// of which only the activity is recorded.
func (m model) browsedItems() []health.Listed {
	if m.past != nil {
		return nil
	}
	return m.currentScreen().browsedItems()
}

func (s screen) browsedItems() (list []health.Listed) {
	if s.listing == nil || s.filter == "" {
		if s.listing != nil {
			list = s.listing.Items
		}
		return list
	}
	for _, item := range s.listing.Items {
		if containsWords(words.OneLine(item.Object.Key()+" "+string(item.Health)+" "+item.Reason), s.filter) {
			list = append(list, item)
		}
	}
	return list
}

// selectedBrowsed returns the object under the cursor of the list.
func (m model) selectedBrowsed() *observe.Object {
	items := m.browsedItems()
	if len(items) == 0 {
		return nil
	}
	n, h := m.upperSize(m.screenAreas())
	o := items[m.currentScreen().view.clampToList(n, h).cursor].Object
	return &o
}

// browserLines draws the list of objects in w columns and h rows.
func (m model) browserLines(w, h int) []string {
	s := m.currentScreen()
	focused := s.focus == upperPane
	title, state := s.browsed, ""
	if s.listing != nil {
		title = s.listing.Kind
		if s.inspectError == "" { // which is shown instead of the list
			state = describeListing(*s.listing)
		}
	}
	if m.past != nil {
		return []string{m.titleLine(title, "", focused, w),
			m.theme.renderLine(styledLine("  the objects are not recorded, only their activity", faint), w, false)}
	}
	if s.filter != "" {
		state = "/" + s.filter + ", " + state
	}
	items := m.browsedItems()
	lines := []string{m.titleLine(title, state, focused, w)}
	switch {
	case s.inspectError != "":
		return append(lines, m.theme.renderLine(styledLine("  "+s.inspectError, bad), w, false))
	case s.listing == nil:
		return append(lines, m.theme.renderLine(styledLine("  loading"+m.theme.ellipsis(), faint), w, false))
	case len(s.listing.Items) == 0:
		return append(lines, m.theme.renderLine(styledLine("  none in any namespace", faint), w, false))
	case len(items) == 0:
		return append(lines, m.theme.renderLine(styledLine("  nothing matches the filter", faint), w, false))
	}
	tail := m.theme.ellipsis()
	name := m.browsedNameWidth(w)
	lines = append(lines, m.theme.renderLine(line{{spaces(tableMargin) + alignLeft("NAME", name, tail) + "  " + alignLeft("HEALTH", healthWidth, tail) + alignRight("AGE", ageWidth, tail) + "  REASON", faint}}, w, false))
	v := s.view.clampToList(len(items), h-2)
	for i := v.top; i < len(items) && i < v.top+h-2; i++ {
		selected := focused && i == v.cursor
		lines = append(lines, m.theme.renderLine(append(m.cursorMark(selected), m.browsedLine(items[i], name)...), w, selected))
	}
	return lines
}

const (
	healthWidth = 12
	ageWidth    = 8
)

func (m model) browsedNameWidth(w int) (name int) {
	for _, item := range m.currentScreen().listing.Items {
		name = max(name, textWidth(item.Object.Key()))
	}
	return max(min(name, w/2), 12)
}

func (m model) browsedLine(item health.Listed, name int) line {
	tail := m.theme.ellipsis()
	mark, st := healthMark(item.Health)
	age := formatAge(m.snapshot.Time.Sub(item.Created))
	return line{
		{alignLeft(words.OneLine(item.Object.Key()), name, tail) + "  ", plain},
		{alignLeft(m.theme.pickGlyph(mark+" ", "")+words.OneLine(string(item.Health)), healthWidth, tail), st},
		{alignRight(age, ageWidth, tail) + "  ", faint},
		{words.OneLine(item.Reason), reasonStyle(item.Health)},
	}
}

func healthMark(s health.Status) (string, style) {
	switch s {
	case health.Current:
		return "●", good
	case health.Failed:
		return "✗", bad
	case health.InProgress, health.Terminating:
		return "◐", caution
	}
	return "?", faint
}

func reasonStyle(s health.Status) style {
	if s == health.Current {
		return faint
	}
	return plain
}

func describeListing(l health.Listing) string {
	text := fmt.Sprintf("%s of %s healthy", ui.GroupDigits(l.Healthy), ui.GroupDigits(l.Total))
	if l.More {
		text = fmt.Sprintf("%s of the first %s healthy", ui.GroupDigits(l.Healthy), ui.GroupDigits(l.Total))
	}
	if len(l.Items) < l.Total {
		text += fmt.Sprintf(", %s are listed", ui.GroupDigits(len(l.Items)))
	}
	return text
}
