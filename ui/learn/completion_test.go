//go:build !windows

package learn

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// fakeProgram answers requests for completions.
const fakeProgram = `#!/bin/sh
[ "$1" = --data-dir ] && shift 2
[ "$1" = __complete ] || exit 1
shift
echo "asked:$*"
printf 'pods\tthe pods\npodtemplates\n:4\nCompletion ended\n'
`

func TestCompleteCommand(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "fake")
	if err := os.WriteFile(program, []byte(fakeProgram), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"site.yaml", "site.sh"} {
		testutil.WriteFile(t, filepath.Join(dir, name), "")
	}
	s := &shell{dir: dir, namespace: "lesson-1", program: []string{program, "--data-dir", "/x"}, env: os.Environ()}
	for line, want := range map[string][]string{
		"":                         {"check", "ctrlplane", "help", "hint", "kubectl", "next", "page", "quit", "shell", "skip", "stop", "view"},
		"ku":                       {"kubectl"},
		"kubectl get po":           {"podtemplates", "pods"},
		"kubectl asked":            {"asked:kubectl -n lesson-1 asked"},
		"ctrlplane trace asked":    {"asked:trace asked"},
		"kubectl apply -f si":      {"site.sh", "site.yaml"},
		"cat x | kubectl get po":   {"podtemplates", "pods"},
		"sh site.s":                {"site.sh"},
		"cat [":                    nil,
		"kubectl get pods | no-su": nil,
	} {
		slices.Sort(want)
		if got := s.completeCommand(line).candidates; !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

func TestCompleteLine(t *testing.T) {
	c := &console{}
	for _, tc := range []struct {
		line string
		c    completion
		want string
	}{
		{"kubectl get p", completion{"p", []string{"pods"}}, "kubectl get pods "},
		{"kubectl get p", completion{"p", []string{"pods", "podtemplates"}}, "kubectl get pod"},
		{"trace d", completion{"d", []string{"deployment/"}}, "trace deployment/"},
		{"x", completion{"x", nil}, "x"},
	} {
		c.completing = func(string) completion { return tc.c }
		if got, at, ok := c.completeLine(tc.line, len(tc.line)); got != tc.want || at != len(tc.want) || !ok {
			t.Errorf("%q: got %q at %d, want %q", tc.line, got, at, tc.want)
		}
	}
}
