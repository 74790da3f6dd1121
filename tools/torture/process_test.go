//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

const busyThreads = "TORTURE_TEST_BUSY_THREADS"

// TestSuspendStopsAllThreads suspends this test, which computes in several threads: none of them may run
// when suspend returns.
func TestSuspendStopsAllThreads(t *testing.T) {
	if os.Getenv(busyThreads) != "" {
		os.Stdout.WriteString("busy\n")
		for range 8 {
			go func() {
				for { //nolint:staticcheck // it computes
				}
			}()
		}
		select {}
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	r := &round{ctx: t.Context(), log: log, dir: t.TempDir()}
	for range 8 {
		cmd := r.command(os.Args[0], "-test.run=^TestSuspendStopsAllThreads$")
		cmd.Env = append(cmd.Env, busyThreads+"=1", "GOMAXPROCS=8")
		p, err := r.start(cmd, "busy")
		if err != nil {
			t.Fatal(err)
		}
		<-p.output.found
		if err := r.suspend(p); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(p.Process.Pid), "task", "*", "stat"))
		if err != nil || len(files) == 0 {
			t.Fatalf("threads: %v, %v", files, err)
		}
		for _, file := range files {
			stat := testutil.ReadFile(t, file)
			if _, state, _ := strings.Cut(stat, ") "); state[0] != 'T' {
				t.Errorf("a thread of a suspended process is in state %c", state[0])
			}
		}
		p.kill()
	}
}
