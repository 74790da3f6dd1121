package words

import (
	"slices"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 5, nil},
		{"one two", 7, []string{"one two"}},
		{"one two", 6, []string{"one", "two"}},
		{"a longerword b", 4, []string{"a", "longerword", "b"}},
		{"½ ⅕", 3, []string{"½ ⅕"}},
	} {
		if got := Wrap(c.text, c.width); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d columns: %q", c.text, c.width, got)
		}
	}
	half := func(s string) int { return len(s) / 2 }
	if got := WrapFunc("ab cd ef gh", 4, half); !slices.Equal(got, []string{"ab cd ef", "gh"}) {
		t.Errorf("with a width of its own: %q", got)
	}
}
