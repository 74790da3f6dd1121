package live

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

// What is typed is edited alike; only an empty kind has nothing to correct.
func TestTypedTextIsEdited(t *testing.T) {
	start := newReplayModel(t, writeRecording(t, frames()), 100, 24)
	for key, open := range map[string]bool{"/": true, "@": true, ":": false} {
		m := pressKeys(t, start, key, "a", "b", "backspace", "é")
		next, _ := m.Update(tea.PasteMsg{Content: "c\nd"})
		if m = next.(model); m.typed() != "aéc d" {
			t.Errorf("%s: typed %q", key, m.typed())
		}
		if cleared := pressKeys(t, m, "ctrl+u"); cleared.typed() != "" || (cleared.typing != noInput) != open {
			t.Errorf("%s: after ctrl+u: %q, typing %t", key, cleared.typed(), cleared.typing != noInput)
		}
		for _, ending := range [][]string{{"esc"}, {"backspace", "backspace", "backspace", "backspace", "backspace", "backspace"}} {
			if ended := pressKeys(t, m, ending...); ended.typing != noInput || ended.activeFilter() != "" {
				t.Errorf("%s: after %q: typing %t, filter %q", key, ending, ended.typing != noInput, ended.activeFilter())
			}
		}
	}
}
