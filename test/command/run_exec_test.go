//go:build unix

package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// controlPlaneTest is a test that prints what tells control planes apart, and checks what envtest needs.
const controlPlaneTest = `package a

import (
	"fmt"
	"os"
	"testing"
)

func Test(t *testing.T) {
	if _, err := os.Stat("a_test.go"); err != nil || os.Getenv("USE_EXISTING_CLUSTER") != "true" {
		t.Fatal(err, os.Environ())
	}
	fmt.Println("URL", os.Getenv("CTRLPLANE_URL"))
}
`

// TestRunAsExec runs the test binary of each package with "run", as docs/testing.md says: each has a control
// plane of its own, and runs in the folder of its package, where its report is, too.
func TestRunAsExec(t *testing.T) {
	t.Parallel()
	run := program.Command(t, "run")
	dir := t.TempDir()
	testutil.WriteFile(t, filepath.Join(dir, "go.mod"), "module example.com/a\n\ngo 1.26\n")
	for _, name := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		testutil.WriteFile(t, filepath.Join(dir, name, "a_test.go"), controlPlaneTest)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-ldflags=-s -w", "-v", "-exec", "'"+program.Path()+"' run --bare --report out --", "./...")
	cmd.Dir, cmd.Env = dir, append(withoutCIEnv(run.Env), goCacheEnv(t)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	urls := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if url, ok := strings.CutPrefix(line, "URL "); ok {
			urls[strings.TrimSpace(url)] = true
		}
	}
	if reports, err := filepath.Glob(filepath.Join(dir, "*", "out", "report.html")); len(reports) != 2 || err != nil {
		t.Errorf("reports %q, %v, want one in each package", reports, err)
	}
	if len(urls) != 2 || urls[""] {
		t.Errorf("two packages have the control planes %v, want one each:\n%s", urls, out)
	}
	requireNothingLeft(t, run)
}
