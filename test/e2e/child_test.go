package e2e_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// runInChild runs tests in a child process with a control plane of its own, and returns
// their output: those whose names begin with prefix and a capital letter. At least as many
// as given must run, and all must pass. env marks the process for them.
//
// The process starts before the test becomes parallel, and so before all other parallel
// tests: these processes take longest.
func runInChild(t *testing.T, prefix string, atLeast int, env ...string) string {
	t.Helper()
	for _, name := range env {
		if os.Getenv(name) != "" {
			t.Skip("this is such a process")
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+prefix+"[A-Z]", "-test.v", "-test.parallel="+flag.Lookup("test.parallel").Value.String())
	cmd.Env = os.Environ()
	for _, name := range env {
		cmd.Env = append(cmd.Env, name+"=1")
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Parallel()
	err := cmd.Wait()
	ran := strings.Count(out.String(), "\n--- PASS: "+prefix)
	if err != nil || ran < atLeast || strings.Contains(out.String(), "--- SKIP") {
		t.Fatalf("%v; %d passed, want at least %d:\n%s", err, ran, atLeast, &out)
	}
	t.Logf("%d passed", ran)
	return out.String()
}
