package explain

import "testing"

func TestShortNamesOfKubectl(t *testing.T) {
	names := NewNames(nil)
	for short, full := range kubectlNames {
		if name, _, ok := names.Resolve(short); !ok || name != full {
			t.Errorf("%s: got %q, %v, want the page %s", short, name, ok, full)
		}
	}
	if got := ExpandShortName("deployment"); got != "deployment" {
		t.Errorf("another name became %q", got)
	}
}
