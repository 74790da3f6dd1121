//go:build !windows

package command_test

import (
	"context"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/tools/screen"
)

// The keys that are no letters, as a terminal sends them.
const (
	keyEnter = "\r"
	keyEsc   = "\x1b"
	keyCtrlC = "\x03"
	keyTab   = "\t"
)

// viewer is the program in a terminal.
type viewer struct {
	*screen.Screen
	cmd *exec.Cmd
}

// view runs the program in a terminal.
func view(t *testing.T, cols, rows int, args ...string) *viewer {
	t.Helper()
	cmd := command(t, args...)
	s, err := screen.Start(cmd, cols, rows)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &viewer{s, cmd}
}

// viewUp starts a control plane and returns when its live view shows it settled.
func viewUp(t *testing.T, args ...string) *viewer {
	t.Helper()
	v := view(t, 160, 45, append([]string{"up"}, args...)...)
	v.shows(t, "● settled")
	return v
}

// until waits for what ok is to find on the screen.
func (v *viewer) until(t *testing.T, what string, ok func(text string) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := v.Await(ctx, ok); err != nil {
		t.Fatalf("no %s: %v", what, err)
	}
}

func (v *viewer) shows(t *testing.T, words string) {
	t.Helper()
	v.until(t, words, func(text string) bool { return strings.Contains(text, words) })
}

// matches waits for a row that matches.
func (v *viewer) matches(t *testing.T, pattern string) {
	t.Helper()
	v.until(t, pattern, regexp.MustCompile("(?m)"+pattern).MatchString)
}

func (v *viewer) hides(t *testing.T, words string) {
	t.Helper()
	v.until(t, "end of "+words, func(text string) bool { return !strings.Contains(text, words) })
}

func (v *viewer) press(t *testing.T, keys string) {
	t.Helper()
	if err := v.Send(keys); err != nil {
		t.Fatal(err)
	}
}

// escape presses esc and waits for the end of what it ends: of esc and another
// key at once a terminal makes one key, pressed with alt.
func (v *viewer) escape(t *testing.T, from string) {
	t.Helper()
	v.shows(t, from)
	v.press(t, keyEsc)
	v.hides(t, from)
}

func (v *viewer) resize(t *testing.T, cols, rows int) {
	t.Helper()
	if err := v.Resize(cols, rows); err != nil {
		t.Fatal(err)
	}
}

// fills waits until the view has drawn the whole screen for a new size: the
// title of a pane is as wide as the screen, and neither there nor elsewhere is a
// row that was wider, for what goes beyond the edge comes down on the next row.
func (v *viewer) fills(t *testing.T, cols, rows int) {
	t.Helper()
	v.until(t, "screen that is filled", func(text string) bool {
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		queues := regexp.MustCompile(`(?m)^.Queues ─.*─$`).FindAllString(text, -1)
		activity := regexp.MustCompile(`(?m)^.Activity ─.*─$`).FindAllString(text, -1)
		return len(lines) == rows && strings.HasPrefix(lines[0], " ctrlplane ") && strings.HasSuffix(lines[rows-1], "? help") &&
			len(queues) == 1 && len([]rune(queues[0])) == cols && len(activity) == 1 && len([]rune(activity[0])) == cols
	})
}

// ends waits for the end of the program, and checks that it was a good one.
func (v *viewer) ends(t *testing.T) {
	t.Helper()
	select {
	case <-v.Ended():
	case <-time.After(patience):
		t.Fatalf("still running after %v; the screen:\n%s", patience, v.Text())
	}
	if code := v.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d; the screen:\n%s", code, v.Text())
	}
	v.gaveBack(t)
}

// gaveBack checks that the terminal is as it was before the view.
func (v *viewer) gaveBack(t *testing.T) {
	t.Helper()
	changes, err := v.Changes()
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) > 0 {
		t.Errorf("the terminal is left with: %s", strings.Join(changes, ", "))
	}
}

// took checks that the view uses the terminal as it should: for the whole screen.
func (v *viewer) took(t *testing.T) {
	t.Helper()
	changes, err := v.Changes()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mode 1049 is on", "mode 25 is off"} {
		if !slices.Contains(changes, want) {
			t.Errorf("got %q, want %q among it", changes, want)
		}
	}
}
