package live

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

// BenchmarkPull measures applying a pull and drawing the screen.
func BenchmarkPull(b *testing.B) {
	m := newModel(b.Context(), Options{Source: &fixedSource{snapshot: burstSnapshot()}})
	next, _ := m.Update(tea.WindowSizeMsg{Width: 250, Height: 80})
	s := burstSnapshot()
	page := pullResult{snapshot: &s}
	page.pages = []streamPage{{stream: 1}}
	page.pages[0].page.Records = podCreations(1, 100)
	b.ReportAllocs()
	for b.Loop() {
		next, _ = next.Update(page)
		_ = next.View()
	}
}
