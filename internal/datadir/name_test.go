package datadir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestValidateName(t *testing.T) {
	valid := []string{"default", "a", "0", "a-b", "x--y", strings.Repeat("a", 63)}
	invalid := []string{"", "-a", "a-", "A", "a.b", "a_b", "a/b", "..", ".", "a b", "ä", "a\n", strings.Repeat("a", 64)}
	for _, name := range valid {
		if err := ValidateName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range invalid {
		if err := ValidateName(name); err == nil {
			t.Errorf("%q is accepted", name)
		} else {
			testutil.ErrorLine(t, err)
		}
	}
	want := `"My Cluster" cannot name a control plane: use at most 63 lower-case letters, digits and "-", beginning and ending with a letter or digit`
	if diff := cmp.Diff(want, testutil.ErrorLine(t, ValidateName("My Cluster"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// setStateHome sets the platform's state directory for the test.
func setStateHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	return home
}

func TestPath(t *testing.T) {
	home := setStateHome(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ name, override, want string }{
		"named":    {name: "blue", want: filepath.Join(home, "ctrlplane", "blue")},
		"override": {name: "blue", override: filepath.Join(home, "x"), want: filepath.Join(home, "x")},
		"relative": {name: "blue", override: "x/../y", want: filepath.Join(here, "y")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := Path(test.name, test.override); err != nil || got != test.want {
				t.Errorf("got %s, %v; want %s", got, err, test.want)
			}
		})
	}
	for _, override := range []string{"", "x"} {
		if got, err := Path("../up", override); err == nil {
			t.Errorf("override %q: got %s, want an error", override, got)
		}
	}
}

func TestList(t *testing.T) {
	home := setStateHome(t)
	list := func(want ...string) {
		t.Helper()
		got, err := List()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	list()
	testutil.WriteFiles(t, home, map[string]string{
		"ctrlplane/not-ours/x":        "",
		"ctrlplane/Upper/" + lockFile: "",
		"ctrlplane/file":              "",
	})
	list()
	for _, name := range []string{"default", "blue"} {
		path, err := Path(name, "")
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, mustOpen(t, path))
	}
	list("blue", "default")
}
