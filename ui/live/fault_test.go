package live

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// faultyPart panics where it is used.
type faultyPart struct {
	fixedSource
	command, update, draw bool
}

func (f *faultyPart) Snapshot(ctx context.Context) (observe.Snapshot, error) {
	if f.command {
		panic("index out of\nrange")
	}
	return f.fixedSource.Snapshot(ctx)
}

func (f *faultyPart) Lines(uint64) ([]OutputLine, uint64) {
	if f.update {
		panic("index out of\nrange")
	}
	return nil, 0
}

func (f *faultyPart) State() (string, bool) {
	if f.draw {
		panic("index out of\nrange")
	}
	return "running", false
}

// A fault ends the view, restores the terminal and says where it is, in one line.
func TestFault(t *testing.T) {
	for name, part := range map[string]*faultyPart{"command": {command: true}, "update": {update: true}} {
		t.Run(name, func(t *testing.T) {
			part.snapshot = idleSnapshot()
			in, keys := io.Pipe()
			t.Cleanup(func() { keys.Close() })
			var screen bytes.Buffer
			_, err := Run(t.Context(), Options{In: in, Out: &screen, Source: part, Output: part, Environ: []string{"TERM=xterm"}})
			fault := new(FaultError)
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), "index out of range") || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
			if !strings.Contains(err.Error(), "_test.go:") {
				t.Errorf("it is not said where: %v", err)
			}
			if on, off := strings.LastIndex(screen.String(), "\x1b[?1049h"), strings.LastIndex(screen.String(), "\x1b[?1049l"); on > off {
				t.Errorf("the terminal is not restored: %q", screen.String())
			}
		})
	}
}

func TestFaultOfDrawing(t *testing.T) {
	part := &faultyPart{fixedSource: fixedSource{snapshot: idleSnapshot()}}
	m := newTestModel(t, Options{Source: part, Output: part}, 100, 30)
	var fault error
	m.failed = func(err error) { fault = err }
	part.draw = true
	if v := m.View(); v.Content != "" || fault == nil || !strings.Contains(fault.Error(), "index out of range (fault_test.go:") {
		t.Errorf("screen %q, fault %v", v.Content, fault)
	}
}
