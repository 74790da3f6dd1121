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
	double := func(s string) int { return 2 * len(s) }
	if got := WrapFunc("ab cd ef gh", 9, double); !slices.Equal(got, []string{"ab cd", "ef gh"}) {
		t.Errorf("with a width of its own: %q", got)
	}
	if got := WrapLead("one two\u00a03 four", "- ", "  ", 7, double); !slices.Equal(got, []string{"- one", "  two\u00a03", "  four"}) {
		t.Errorf("with leads: %q", got)
	}
}
