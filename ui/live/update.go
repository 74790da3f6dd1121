package live

import (
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// Update answers a message.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		m.theme = newTheme(m.theme.color, msg.IsDark(), m.theme.ascii)
	case tea.ColorProfileMsg:
		color := m.theme.color && msg.Profile >= colorprofile.ANSI
		m.theme = newTheme(color, m.theme.dark, m.theme.ascii)
	case tickMsg:
		return m.ticked(time.Time(msg))
	case pulled:
		return m.apply(msg), nil
	case handed:
		return m.took(msg), nil
	case inspected:
		return m.saw(msg), nil
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		if m.typing {
			m = m.typed(clean(msg.Content))
		}
	case tea.MouseClickMsg:
		return m.click(msg.Mouse()), nil
	case tea.MouseWheelMsg:
		return m.wheel(msg.Mouse()), nil
	}
	return m, nil
}
