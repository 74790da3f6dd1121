package learn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ctrlplane/ctrlplane/ui"
)

// newTerminal returns a pseudo-terminal: what its reader sees and types, and what a program has open.
func newTerminal(t *testing.T) (reader, program *os.File) {
	t.Helper()
	open := func(path string) *os.File {
		t.Helper()
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	reader = open("/dev/ptmx")
	number, err := unix.IoctlGetInt(int(reader.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(reader.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return reader, open(fmt.Sprintf("/dev/pts/%d", number))
}

// interruptedRunner returns a runner at a terminal whose reader types what follows an interrupt.
func interruptedRunner(t *testing.T, typed string) *runner {
	t.Helper()
	reader, program := newTerminal(t)
	if _, err := io.WriteString(reader, typed); err != nil {
		t.Fatal(err)
	}
	r := &runner{lesson: &Lesson{}, shell: &shell{namespace: "lesson-1"}, Options: Options{Interrupts: &Interrupts{}}}
	r.console = newConsole(program, io.Discard, style{ui.Mode{}}, true)
	t.Cleanup(r.in.close)
	return r
}

// A reader who interrupts something and stays is offered to repeat it only if it was not complete.
func TestWhatAnInterruptEnds(t *testing.T) {
	failed := errors.New("failed")
	for name, tc := range map[string]struct {
		typed string
		err   error // of what was interrupted
		stays bool
		want  error
	}{
		"stays":             {"n\r", failed, true, nil},
		"complete":          {"n\r", nil, false, nil},
		"done":              {"", errTaskDone, false, errTaskDone},
		"leaves":            {"y\r", failed, false, errReaderLeft},
		"leaves a complete": {"y\r", nil, false, errReaderLeft},
	} {
		t.Run(name, func(t *testing.T) {
			r := interruptedRunner(t, tc.typed)
			stays, err := r.runInterruptibly(t.Context(), func(context.Context) error {
				r.Interrupts.EndWait()
				return tc.err
			})
			if stays != tc.stays || !errors.Is(err, tc.want) {
				t.Errorf("stays %t, %v, want %t, %v", stays, err, tc.stays, tc.want)
			}
		})
	}
}
