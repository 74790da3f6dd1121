package etcd

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

const (
	// In a child: what part of its test it is to play, and where.
	roleEnv = "ETCD_TEST_ROLE"
	dirEnv  = "ETCD_TEST_DIR"

	ackedLine = "acknowledged" // begins a line of a child for each write it saw done
)

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) != "" {
		os.Exit(m.Run()) // a child breaks things that cannot be put right
	}
	goleak.VerifyTestMain(m)
}

// childCommand returns the calling test as a process of its own.
func childCommand(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir)
	return cmd
}

// runChild returns how many writes a child saw done before it ended well.
func runChild(t *testing.T, cmd *exec.Cmd) (writes int) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	}
	t.Logf("child:\n%s", strings.ReplaceAll(string(out), ackedLine+"\n", ""))
	return strings.Count(string(out), ackedLine+"\n")
}
