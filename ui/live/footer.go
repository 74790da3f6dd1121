package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
)

// maxNoticeRows is how many rows the message above the footer may take.
const maxNoticeRows = 2

// noticeLines returns the rows of the message above the footer.
func (m model) noticeLines() []line {
	l, rows := m.noticeLine(), 1
	if l == nil {
		return nil
	}
	if m.height >= lowHeight {
		rows = maxNoticeRows
	}
	return l.wrap(m.width, rows)
}

// noticeLine returns the message above the footer; nil if there is none.
func (m model) noticeLine() line {
	silent := m.now.Sub(m.pullStarted)
	unread := len(m.warnings) - m.warningsRead
	switch {
	case m.pullError != "":
		return line{{" cannot reach the control plane", bad}, {": " + m.pullError + "; retrying", plain}}
	case m.pulling && !m.pullStarted.IsZero() && silent >= silenceThreshold:
		return line{{" no response", caution}, {" from the control plane for " + formatAge(silent) + "; waiting", plain}}
	case m.message != "":
		return styledLine(" "+m.message, caution)
	case unread > 0:
		l := line{{" warning: ", caution}, {words.OneLine(m.warnings[len(m.warnings)-1]), plain}}
		if unread > 1 {
			l = append(line{{fmt.Sprintf(" %d warnings (W shows all), latest: ", unread), caution}}, l[1:]...)
		}
		return l
	}
	if failure := m.failureLine(); failure != nil {
		return failure
	}
	return m.interventionsLine()
}

// failureLine says why a key of the selected row fails, and which fault its controller has: its
// column has little room.
func (m model) failureLine() line {
	s := m.currentScreen()
	if s.kind != queuesScreen || s.view.cursor >= len(m.rows) || m.rows[s.view.cursor].info == nil {
		return nil
	}
	r := m.rows[s.view.cursor]
	f, ok := r.failingKey()
	if !ok || f.Error == "" || ui.IsPassing(f) {
		return nil
	}
	verb := map[bool]string{true: " failed: ", false: " fails: "}[r.state == stateOff]
	l := line{{" " + ui.ShortName(r.controller), bad}}
	if r.state == stateRunning && r.info.Reason != "" {
		l = append(l, span{" (" + words.OneLine(r.info.Reason) + ")", caution})
	}
	l = append(l, span{": ", bad}, span{ui.FormatKey(f.Key, f.KeyBasis) + verb, plain})
	full := append(slices.Clone(l), span{words.OneLine(f.Error), plain})
	if full.width() <= m.width {
		return full
	}
	return append(l, span{ui.ShortErrorOf(words.OneLine(f.Error), f.Key), plain})
}

// interventionsLine lists the controllers with an intervention; nil if there is none.
func (m model) interventionsLine() line {
	var changes []string
	for _, h := range m.activeInterventions() {
		changes = append(changes, h.String())
	}
	if changes == nil {
		return nil
	}
	return line{{" changed manually: ", caution}, {strings.Join(changes, "; "), plain}}
}

// askQuit is the question whether to stop the control plane. It says what an ephemeral one loses.
func (m model) askQuit() string {
	if !m.ephemeral {
		return " Stop the control plane? "
	}
	var changes int64
	var who []string
	for _, c := range m.snapshot.Clients {
		if c.Changes > 0 {
			changes += c.Changes
			who = append(who, c.Name)
		}
	}
	switch len(who) {
	case 0:
		return " Stop it? Nothing was written from outside. "
	case 1:
		return fmt.Sprintf(" Stop it and lose %s by %s? ", ui.CountNoun(changes, "write"), who[0])
	}
	return fmt.Sprintf(" Stop it and lose %s by %s and %s? ", ui.CountNoun(changes, "write"), who[0], ui.CountNoun(len(who)-1, "more client"))
}

// asksUser reports whether a question or an input is open: the footer shows it, and the next keys
// are for it.
func (m model) asksUser() bool {
	return m.askingQuit || m.confirming != nil || m.typing != noInput
}

// questionLine returns the open question, with its answers; nil if there is none.
func (m model) questionLine(w int) line {
	switch {
	case m.askingQuit:
		return m.quitLine(w)
	case m.confirming != nil:
		return m.confirmationLine(w)
	}
	return nil
}

// quitLine returns the question whether to stop the control plane: as much of it as leaves room for its answers.
func (m model) quitLine(w int) line {
	answers := func(leave string) line {
		return line{{" [s]", highlight}, {"top  ", plain}, {"[l]", highlight}, {"eave " + leave + "  ", plain}, {"[esc]", highlight}, {" cancel", plain}}
	}
	question, here := m.askQuit(), answers("it running here")
	room := w - here.width()
	short := " Stop it? "
	switch {
	case textWidth(question) <= room:
	case m.ephemeral && room > len(short):
		question = truncate(question, room-1, m.theme.ellipsis()) + " "
	case len(short) <= room:
		question = short
	case len(short) <= w-answers("running").width():
		return append(styledLine(short, strong), answers("running")...)
	default:
		return answers("running")
	}
	return append(styledLine(question, strong), here...)
}

// confirmationLine returns the question whether to intervene: as much of it as leaves room for its answers.
func (m model) confirmationLine(w int) line {
	name := m.confirming.controller
	verb, what := "Stop", " This ends its workers, event handlers and queues."
	switch m.confirming.verb {
	case control.Start:
		verb, what = "Start", " This builds and runs it again."
	case control.Remove:
		verb, what = "Remove", " Its process has ended; its records remain."
		if c, _ := m.findController(name); c.IsSilent() {
			what = " Its process has ended or is suspended; its interventions end."
		}
	}
	answers := line{{"  ", plain}, {"[y]", highlight}, {"es  ", plain}, {"[esc]", highlight}, {" cancel", plain}}
	room := w - answers.width()
	for _, question := range []line{
		{{" " + verb + " " + name + "?", strong}, {what, plain}},
		{{" " + verb + " " + name + "?", strong}},
		{{" " + verb + " " + ui.ShortName(name) + "?", strong}},
	} {
		if question.width() <= room {
			return append(question, answers...)
		}
	}
	return append(styledLine(truncate(" "+verb+" "+ui.ShortName(name), room-1, m.theme.ellipsis())+"?", strong), answers...)
}

// footerLine returns the last line: an open question, the text being typed, or
// the key hints.
func (m model) footerLine(w int) line {
	if l := m.questionLine(w); l != nil {
		return l
	}
	if m.typing != noInput {
		sign, help := m.inputPrompt()
		l := line{{sign, highlight}, {m.typed() + m.theme.pickGlyph("▏", "_"), plain}}
		return joinJustified(l, help, w, m.theme.ellipsis())
	}
	fields := []headerField{}
	for _, b := range m.hintedBindings() {
		if b.hint = m.hintFor(b); b.hint != "" {
			fields = append(fields, hintField(b, len(fields)))
		}
	}
	return append(styledLine(" ", plain), joinFields(fields, w-1)...)
}

// hintedBindings returns the bindings that the footer shows: first those that apply to
// what is selected here and now.
func (m model) hintedBindings() (list []binding) {
	var others []binding
	for _, s := range m.keySections() {
		for _, b := range s.bindings {
			switch {
			case b.hint == "" || b.enabled != nil && !b.enabled(m):
			case m.isTimely(b.action):
				list = append(list, b)
			default:
				others = append(others, b)
			}
		}
	}
	return append(list, others...)
}

// isTimely reports whether an action is likely what the user looks for now.
func (m model) isTimely(a action) bool {
	paused := m.stateOf(m.targetController()) == statePaused
	switch a {
	case timeBack, timeForward, timePlay, nextRecord, timeNow, timeSlower, timeFaster:
		return m.past != nil
	case stepOnce, showStep, nextMatch, previousMatch:
		return true
	case pauseResume:
		return paused
	case stopStart:
		return m.verbOfStop(m.targetController()) == control.Remove
	case faster, slower:
		return speedIsSlow(m)
	case toggleFollow:
		return !follows(m)
	case showTrace, showWhy, toggleYAML:
		return m.currentScreen().kind != queuesScreen || inFeed(m)
	}
	return false
}

// stateHints are the hints of keys in a state in which they do something else than what their binding says: most of them
// then undo it. One that changes nothing has none.
func stateHints() []stateHint {
	return []stateHint{
		{timePlay, func(m model) bool { return m.past.Playing }, "pause"},
		{timeNow, func(m model) bool { return m.source == nil }, "last"},
		{pauseResume, func(m model) bool { return m.stateOf(m.targetController()) == statePaused }, "resume"},
		{back, isSearching, "end search"},
		{back, func(m model) bool { return m.activeFilter() != "" }, "clear filter"},
		{filter, model.showsText, "search"},
		{freeze, func(m model) bool { return m.frozen }, "unfreeze"},
		{toggleFollow, func(m model) bool { return follows(m) && (m.frozen || m.showsOutput() && m.output.last == 0) }, ""},
		{toggleFollow, follows, "hold"},
		{toggleAll, func(m model) bool { return m.showAll && onPage(m) }, "no reads"},
		{toggleAll, func(m model) bool { return m.showAll }, "notable"},
		{toggleOutput, model.showsOutput, "activity"},
		{toggleYAML, showsYAML, "hide YAML"},
		{toggleIdle, func(m model) bool { return m.hideIdle }, "show idle"},
		{toggleInternal, func(m model) bool { return m.screens[0].filter != "" }, ""},
		{toggleInternal, func(m model) bool { return m.showInternal }, "hide internal"},
	}
}

type stateHint struct {
	action  action
	applies func(model) bool
	hint    string
}

// hintFor returns the hint of a key in the present state.
func (m model) hintFor(b binding) string {
	if b.action == stopStart {
		return m.verbOfStop(m.targetController())
	}
	for _, h := range stateHints() {
		if h.action == b.action && h.applies(m) {
			return h.hint
		}
	}
	return b.hint
}

// hintField returns the hint of a key. The hints for help and quit are never
// dropped.
func hintField(b binding, n int) headerField {
	if b.action == quit || b.action == help {
		n = 0
	}
	return headerField{line{{keyName(b.keys[0]), strong}, {" " + b.hint, faint}}, n}
}

// keyName returns the name of a key as shown to the user.
func keyName(key string) string {
	if after, ok := strings.CutPrefix(key, "ctrl+"); ok {
		return "Ctrl-" + strings.ToUpper(after)
	}
	return key
}
