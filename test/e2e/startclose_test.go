package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane"
)

const (
	cyclesEnv  = "CTRLPLANE_E2E_CYCLES"
	cycleCount = 20
	// cachedGoroutines is how many goroutines client-go keeps for cached transports
	// with client certificates: two transports of a cycle with six each, of the last
	// two cycles. They do not grow with the cycles.
	cachedGoroutines = 24
	// goroutineExitTimeout bounds how long goroutines of upstream outlive Close: those
	// of timers, and of transports until they are garbage collected.
	goroutineExitTimeout = 15 * time.Second
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
	before, _ := awaitGoroutines(0)
	for n := range cycleCount {
		if err := startAndClose(); err != nil {
			return fmt.Errorf("cycle %d: %w", n, err)
		}
	}
	if after, stacks := awaitGoroutines(before + cachedGoroutines); after > before+cachedGoroutines {
		return fmt.Errorf("%d goroutines after one cycle, %d after %d more:\n%s", before, after, cycleCount, stacks)
	}
	return nil
}

func startAndClose() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
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

// awaitGoroutines waits until at most want goroutines are left, or the timeout, and
// returns their number and stacks.
func awaitGoroutines(want int) (int, string) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(goroutineExitTimeout); runtime.NumGoroutine() > want; {
		select {
		case <-tick.C:
			runtime.GC() // client-go drops its transports when they are collected
			continue
		case <-deadline:
		}
		break
	}
	var stacks bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
		return 0, err.Error()
	}
	return runtime.NumGoroutine(), strings.TrimSpace(stacks.String())
}
