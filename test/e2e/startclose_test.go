package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane"
)

const (
	cyclesEnv = "CTRLPLANE_E2E_CYCLES"
	// cycleCount is more than the goroutines with the same stack that client-go keeps for
	// cached transports: those do not grow with the cycles.
	cycleCount = 8
	// goroutineExitTime is how long goroutines of upstream outlive Close on an idle machine:
	// those of timers, and of transports until they are garbage collected.
	goroutineExitTime = 15 * time.Second
)

// TestStartCloseLeavesNothing starts and closes control planes in a child process, one
// after the other: neither goroutines nor files accumulate.
func TestStartCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), cyclesEnv+"=1", "TMPDIR="+temp)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	left, err := filepath.Glob(filepath.Join(temp, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files left behind: %v, %v", left, err)
	}
}

// runCycles runs in the child process.
func runCycles() error {
	if err := startAndClose(); err != nil { // creates what exists once per process
		return err
	}
	before, err := awaitGoroutines(goroutineExitTime, func(goroutines) bool { return false }) // the whole time
	if err != nil {
		return err
	}
	for n := range cycleCount {
		if err := startAndClose(); err != nil {
			return fmt.Errorf("cycle %d: %w", n, err)
		}
	}
	leaked := func(now goroutines) []string { return now.growthSince(before, cycleCount, ignoreNone) }
	after, err := awaitGoroutines(waitTimeout, func(now goroutines) bool { return len(leaked(now)) == 0 })
	if stacks := leaked(after); len(stacks) > 0 {
		return fmt.Errorf("%d goroutines after one cycle, %d after %d more:\n%s", before.total(), after.total(), cycleCount, strings.Join(stacks, "\n"))
	}
	return err
}

func startAndClose() error {
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	srv := &ctrlplane.Server{}
	if err := srv.Start(ctx); err != nil {
		return err
	}
	second := &ctrlplane.Server{}
	if err := second.Start(ctx); !errors.Is(err, ctrlplane.ErrRunning) {
		return fmt.Errorf("start of a second control plane: got %q, want %w", fmt.Sprint(err), ctrlplane.ErrRunning)
	}
	dir := srv.DataDir()
	if err := errors.Join(srv.Close(), srv.Close()); err != nil {
		return err
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		return fmt.Errorf("%s: got %q, want %w", dir, fmt.Sprint(err), os.ErrNotExist)
	}
	select {
	case <-srv.Done():
		return srv.Err()
	default:
		return errors.New("closed, but Done is open")
	}
}

// ignoreNone makes growthSince list all goroutines.
func ignoreNone(string) bool { return false }

// awaitGoroutines waits until the goroutines are as wanted, or the timeout, and returns
// them.
func awaitGoroutines(timeout time.Duration, wanted func(goroutines) bool) (goroutines, error) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(timeout); ; {
		now, err := readGoroutines()
		if err != nil || wanted(now.withoutLabels()) {
			return now.withoutLabels(), err
		}
		select {
		case <-tick.C:
			runtime.GC() // client-go drops its transports when they are collected
		case <-deadline:
			return now.withoutLabels(), nil
		}
	}
}
