package live

import (
	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// inputKind is what the user types in the footer.
type inputKind int

const (
	noInput     inputKind = iota
	filterInput           // or what is searched
	kindInput             // of the objects to list
	timeInput             // of the past, to go to
)

// typed returns what has been typed so far.
func (m model) typed() string {
	if m.typing == filterInput {
		return m.activeFilter()
	}
	return m.input
}

func (m model) setTyped(text string) model {
	if m.typing == filterInput {
		return m.setFilter(text)
	}
	m.input = text
	return m
}

// editInput handles a key pressed while something is typed.
func (m model) editInput(msg tea.KeyPressMsg) (model, tea.Cmd) {
	text := m.typed()
	switch msg.String() {
	case "enter":
		return m.enterInput()
	case "esc":
		m = m.setTyped("")
		m.typing = noInput
	case "ctrl+u":
		m = m.setTyped("")
		if m.typing == kindInput {
			m.typing = noInput
		}
	case "backspace":
		r := []rune(text)
		if len(r) == 0 {
			m.typing = noInput
			break
		}
		m = m.setTyped(string(r[:len(r)-1]))
	default:
		m = m.setTyped(text + words.StripControls(msg.Text))
	}
	return m, nil
}

// enterInput does what was typed; a filter applies already.
func (m model) enterInput() (model, tea.Cmd) {
	typing := m.typing
	m.typing = noInput
	switch typing {
	case kindInput:
		return m.enterKind(m.input)
	case timeInput:
		return m.enterTime(m.input), nil
	}
	return m, nil
}

// inputPrompt returns the sign before what is typed, and which keys end it.
func (m model) inputPrompt() (sign string, help line) {
	switch m.typing {
	case timeInput:
		return " @", styledLine("12:30:05, or 1m30s since the beginning; enter go  esc cancel ", faint)
	case kindInput:
		if why := m.unlistable(); why != "" {
			return " :", styledLine(why+"  esc cancel ", caution)
		}
		return " :", styledLine("a kind, such as pods or deploy; enter list  esc cancel ", faint)
	}
	if m.showsText() {
		return " /", styledLine("enter, then n N next, previous  esc end ", faint)
	}
	return " /", styledLine("enter apply  esc clear ", faint)
}
