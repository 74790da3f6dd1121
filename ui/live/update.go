package live

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// Update handles a message.
func (m model) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	defer m.catchPanic(func() { next, cmd = m, nil })
	handled, cmd := m.handle(msg)
	return handled.fillPast(m), m.guard(cmd)
}

func (m model) handle(msg tea.Msg) (model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		dark := msg.IsDark()
		m = m.withPalette(func(p *palette) { p.background = &dark })
	case tea.ColorProfileMsg:
		m = m.withPalette(func(p *palette) { p.withProfile(msg.Profile) })
	case tickMsg:
		return m.handleTick(time.Time(msg))
	case pullResult:
		return m.applyPull(msg), nil
	case loopResult:
		return m.applyLoops(msg), nil
	case interventionResult:
		return m.applyIntervention(msg), nil
	case speedResult:
		return m.applySpeed(msg)
	case storyResult:
		return m.applyStory(msg), nil
	case pastResult:
		return m.applyPast(msg)
	case browseResult:
		return m.applyBrowse(msg), nil
	case pageResult:
		return m.applyPage(msg), nil
	case inspectResult:
		return m.applyInspection(msg), nil
	case tea.KeyPressMsg:
		return m.handleKey(msg)
	case tea.PasteMsg:
		if m.typing != noInput {
			m = m.setTyped(m.typed() + words.OneLine(msg.Content))
		}
	case tea.MouseClickMsg:
		return m.handleClick(msg.Mouse()), nil
	case tea.MouseWheelMsg:
		return m.handleWheel(msg.Mouse()), nil
	}
	return m, nil
}
