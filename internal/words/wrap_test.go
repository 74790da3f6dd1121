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

// A line break in a quoted command would be pasted, too.
func TestWrapKeepsCommands(t *testing.T) {
	for _, command := range []string{
		`"bin/ctrlplane why configmap/cm --changed"`, `("kubectl logs seven -c wait"),`, `'/opt/ctrlplane why "a b"':`,
		`'& "C:\Program Files\ctrlplane.exe" why pod/x'`, `"'/tmp/my dir/ctrlplane' down"`, `"words.test why pod/x"`,
	} {
		got := Wrap("patched ConfigMap cm: "+command+" shows the last change", 24)
		if want := []string{"patched ConfigMap cm:", command, "shows the last change"}; !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
	for _, text := range []string{`pods "broken-" is forbidden`, `"the object has been modified", please try`, `"open quote of kubectl logs`} {
		if got := Wrap(text, 10); len(got) < 3 {
			t.Errorf("%q is broken: %q", text, got)
		}
	}
}
