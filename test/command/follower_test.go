package command_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// lines takes what a program writes.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// all returns the lines that are whole.
func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	whole, _, _ := cutLast(l.b.String())
	return strings.Split(whole, "\n")
}

func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndex(s, "\n")
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+1:], true
}

// follower is the program when it writes a line an event.
type follower struct {
	*plane
	out *lines
}

// follow runs the program; dir is the data folder of the control plane, if it
// starts one.
func follow(t *testing.T, dir string, args ...string) *follower {
	t.Helper()
	f := &follower{&plane{cmd: command(t, args...), dir: dir, stderr: &bytes.Buffer{}, ended: make(chan struct{})}, &lines{}}
	f.cmd.Stdout, f.cmd.Stderr = f.out, f.stderr
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(f.ended)
		_ = f.cmd.Wait() // ProcessState tells
	}()
	t.Cleanup(f.kill)
	return f
}

// writes waits for a line that ok takes.
func (f *follower) writes(t *testing.T, what string, ok func(line string) bool) {
	t.Helper()
	seen := 0
	f.await(t, what, func() bool {
		all := f.out.all()
		for _, line := range all[seen:] {
			if ok(line) {
				return true
			}
		}
		seen = len(all)
		return false
	})
}

// says waits for a line with these words.
func (f *follower) says(t *testing.T, words string) {
	t.Helper()
	f.writes(t, words, func(line string) bool { return strings.Contains(line, words) })
}

// tells waits for a JSON line of a kind.
func (f *follower) tells(t *testing.T, kind string) {
	t.Helper()
	f.writes(t, kind, func(line string) bool { return kindOf(line) == kind })
}

// kindOf is the kind of a JSON line; none if it is not one.
func kindOf(line string) string {
	var o struct{ Kind string }
	if json.Unmarshal([]byte(line), &o) != nil {
		return ""
	}
	return o.Kind
}

// interrupted ends it as Ctrl-C does, and checks that it ends well.
func (f *follower) interrupted(t *testing.T) {
	t.Helper()
	f.stop(t, syscall.SIGINT)
	if code := f.cmd.ProcessState.ExitCode(); code != 0 || f.stderr.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, f.stderr)
	}
}
