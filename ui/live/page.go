package live

import (
	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

func hasPage(m model) bool { return m.page != nil }

// pageResult is a link to the page for a projector.
type pageResult struct {
	link string
	err  error
}

// servePage asks for a link.
func (m model) servePage() (model, tea.Cmd) {
	if m.page == nil {
		m.message = "a page is not available here"
		return m, nil
	}
	page := m.page
	return m, func() tea.Msg {
		link, err := page()
		return pageResult{link, err}
	}
}

// applyPage shows a link.
func (m model) applyPage(r pageResult) model {
	m.message = PageMessage(r.link)
	if r.err != nil {
		m.message = words.OneLine(r.err.Error())
	}
	return m
}

// PageMessage is a message with a link to the page. It fits 80 columns.
func PageMessage(link string) string { return "page, opens once: " + link }
