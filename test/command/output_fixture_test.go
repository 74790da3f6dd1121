package command_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// lineBuffer collects what a program prints.
type lineBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lineBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns everything, also of a line that has not ended.
func (l *lineBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// wholeLines returns the complete lines.
func (l *lineBuffer) wholeLines() []string {
	whole, _, found := cutLastLine(l.String())
	if !found {
		return nil
	}
	return strings.Split(whole, "\n")
}

func cutLastLine(s string) (before, after string, found bool) {
	i := strings.LastIndex(s, "\n")
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+1:], true
}

// outputFollower is a run of the program that prints lines as long as it runs.
type outputFollower struct {
	*program.ControlPlane
	out *lineBuffer
}

// startFollower runs the program; dir is the data folder of the control plane if it
// starts one.
func startFollower(t *testing.T, dir string, args ...string) *outputFollower {
	t.Helper()
	out := &lineBuffer{}
	cmd := program.Command(t, args...)
	cmd.Stdout = out
	return &outputFollower{program.Start(t, cmd, dir), out}
}

// awaitLine waits for a line for which ok returns true.
func (f *outputFollower) awaitLine(t *testing.T, what string, ok func(line string) bool) {
	t.Helper()
	seen := 0
	f.Await(t, what, func() bool {
		all := f.out.wholeLines()
		for _, line := range all[seen:] {
			if ok(line) {
				return true
			}
		}
		seen = len(all)
		return false
	})
}

// awaitText waits for a line that contains a text.
func (f *outputFollower) awaitText(t *testing.T, words string) {
	t.Helper()
	f.awaitLine(t, words, func(line string) bool { return strings.Contains(line, words) })
}

// awaitKind waits for a JSON line of a kind.
func (f *outputFollower) awaitKind(t *testing.T, kind string) {
	t.Helper()
	f.awaitLine(t, kind, func(line string) bool { return jsonKind(line) == kind })
}

// jsonKind returns the kind of a JSON line; "" if it is not JSON.
func jsonKind(line string) string {
	var o struct{ Kind string }
	if json.Unmarshal([]byte(line), &o) != nil {
		return ""
	}
	return o.Kind
}

// interrupt stops it as Ctrl-C does and checks that it succeeds.
func (f *outputFollower) interrupt(t *testing.T) {
	t.Helper()
	f.Stop(t, syscall.SIGINT)
	if code, stderr := f.Cmd.ProcessState.ExitCode(), program.WithoutSlowStart(f.Stderr.String()); code != 0 || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}
