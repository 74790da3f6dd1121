package etcd

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/leaks"
)

const (
	// In a child process: its role in the test, and its folder.
	roleEnv = "ETCD_TEST_ROLE"
	dirEnv  = "ETCD_TEST_DIR"

	ackedLine = "acknowledged" // a child prints this line for each acknowledged write
)

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) != "" {
		os.Exit(m.Run()) // a child leaves goroutines
	}
	os.Exit(leaks.Main(m))
}

// childCommand returns a command that runs the calling test in another process.
func childCommand(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir)
	return cmd
}

// runChild runs a child, which must succeed, and returns the number of its
// acknowledged writes.
func runChild(t *testing.T, cmd *exec.Cmd) (writes int) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	}
	t.Logf("child:\n%s", strings.ReplaceAll(string(out), ackedLine+"\n", ""))
	return strings.Count(string(out), ackedLine+"\n")
}
