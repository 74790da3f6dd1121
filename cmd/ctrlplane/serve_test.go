package main

import (
	"runtime"
	"strings"
	"testing"
)

// TestEphemeralTarget has the command lines that are shown for other shells, which may have another TMPDIR.
func TestEphemeralTarget(t *testing.T) {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		t.Skip("all shells of a user have the same folder for temporary files")
	}
	for tmp, want := range map[string]string{
		"":          " --name ephemeral down",
		"/tmp/":     " --name ephemeral down",
		"/tmp/mine": " --data-dir /tmp/mine/e down",
	} {
		t.Setenv("TMPDIR", tmp)
		if got := ephemeralTarget("ephemeral", "/tmp/mine/e").commandLine("down"); !strings.HasSuffix(got, want) {
			t.Errorf("TMPDIR=%s: got %q, want %q", tmp, got, want)
		}
	}
}
