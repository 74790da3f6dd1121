package explain

import (
	"testing"

	"github.com/ctrlplane/ctrlplane/ui"
)

func TestShortNamesOfKubectl(t *testing.T) {
	names := NewNames(nil)
	for short, full := range kubectlNames {
		if name, _, ok := names.Resolve(short); !ok || name != full {
			t.Errorf("%s: got %q, %v, want the page %s", short, name, ok, full)
		}
	}
	for _, other := range []string{"shop/site", "csrapproving", "nonsense"} {
		if got := ExpandShortName(other); got != other {
			t.Errorf("%s became %q", other, got)
		}
	}
}

// Each name in a table has room at 80 columns, and can be typed.
func TestShortNamesOfTables(t *testing.T) {
	const room = 19
	seen := map[string]string{}
	for _, p := range loadPages() {
		short := ui.ShortName(p.Name)
		if len(short) > room {
			t.Errorf("%s: %s is longer than %d", p.Name, short, room)
		}
		if other := seen[short]; other != "" {
			t.Errorf("%s and %s have the name %s", p.Name, other, short)
		}
		seen[short] = p.Name
		if got := ExpandShortName(short); got != p.Name {
			t.Errorf("%s stands for %q, want %s", short, got, p.Name)
		}
	}
}
