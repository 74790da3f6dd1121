//go:build unix

package endsignals

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
)

// childEnv makes the test binary print whether it ends with SIGHUP.
const childEnv = "ENDSIGNALS_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		fmt.Print(HangupIgnored(), slices.Contains(List(), os.Signal(syscall.SIGHUP)))
		return
	}
	os.Exit(m.Run())
}

func TestHangup(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for action, want := range map[string]string{
		"''": "true false", // as by nohup
		"-":  "false true",
	} {
		if action == "-" && hangupIgnored {
			continue // a shell cannot reset a signal that it was started with as ignored
		}
		cmd := exec.Command("sh", "-c", "trap "+action+` HUP; exec "$0"`, self)
		cmd.Env = append(os.Environ(), childEnv+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("trap %s: %q, %v, want %q", action, out, err, want)
		}
	}
}
