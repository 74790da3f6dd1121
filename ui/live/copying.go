package live

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/observe"
)

// copySelection copies what is selected to the clipboard of the terminal.
func (m model) copySelection() (model, tea.Cmd) {
	what, text := m.selectedText()
	switch {
	case text == "" && inFeed(m) && m.showsOutput():
		m.message = "nothing to copy: lines of the output cannot be selected"
		return m, nil
	case text == "":
		m.message = "nothing to copy: select a line first"
		return m, nil
	}
	m.message = fmt.Sprintf("copied %s with OSC 52: if your terminal allows it, it is in the clipboard", what)
	return m, tea.SetClipboard(text)
}

// selectedText returns what y copies, and how to call it. Names are quoted for the user's shell.
func (m model) selectedText() (what, text string) {
	s := m.currentScreen()
	switch {
	case m.overlay == textOverlay:
		return "this text", m.text.copied
	case m.overlay == stepOverlay:
		return "the diff", linesText(m.shownStep.diff)
	case s.focus == feedPane:
		if e, ok := m.selectedEntry(); ok {
			text := strings.TrimSpace(m.entryLine(e, copiedWidth).plainText())
			return "the line", text
		}
		return "", ""
	case s.kind == objectScreen && s.yaml && s.inspection != nil:
		return "the YAML", s.inspection.YAML
	}
	if o := m.selectedObject(); o != nil {
		return objectRef(*o, func(word string) string { return word }), objectRef(*o, m.shell.Quote)
	}
	if name := m.selectedController(); name != "" {
		return name, m.shell.Quote(name)
	}
	return "", ""
}

// copiedWidth is the width of a line of the feed that is copied: nothing of it is cut.
const copiedWidth = 100_000

// objectRef returns an object as kubectl accepts it, with each word quoted: clients choose
// names, which may be commands of a shell, as those of roles may be.
func objectRef(o observe.Object, quote func(string) string) string {
	ref := o.GroupResource() + "/" + o.Name
	if o.Resource == "" {
		ref = strings.ToLower(o.Kind) + "/" + o.Name
	}
	ref = quote(ref)
	if o.Namespace != "" && o.Namespace != "default" {
		ref += " -n " + quote(o.Namespace)
	}
	return ref
}

func linesText(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.plainText() + "\n")
	}
	return b.String()
}
