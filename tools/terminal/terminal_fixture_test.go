//go:build !windows

package terminal_test

import (
	"context"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
	"github.com/ctrlplane/ctrlplane/tools/screen"
)

// Special keys, as a terminal sends them. keyEsc is what some terminals send for esc: others
// send only its first byte, which together with the next key is that key with alt.
const (
	keyEnter = "\r"
	keyEsc   = "\x1b[27u"
	keyCtrlC = "\x03"
	keyTab   = "\t"
)

// terminal is the program in a terminal.
type terminal struct {
	*screen.Screen
	cmd *exec.Cmd
}

// startTerminal runs the program in a terminal.
func startTerminal(t *testing.T, cols, rows int, args ...string) *terminal {
	t.Helper()
	cmd := program.Command(t, args...)
	s, err := screen.Start(cmd, cols, rows)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &terminal{s, cmd}
}

// minimal are flags of a control plane that need not do anything: it starts and stops sooner.
func minimal() []string {
	return []string{"--nodes=0", "--no-scheduler", "--controllers=namespace"}
}

// startLiveView starts a control plane and returns when its live view shows that it
// has settled.
func startLiveView(t *testing.T, args ...string) *terminal {
	t.Helper()
	v := startTerminal(t, 160, 45, append([]string{"up"}, args...)...)
	v.awaitText(t, "● settled")
	return v
}

// awaitScreen waits for a screen for which ok returns true.
func (v *terminal) awaitScreen(t *testing.T, what string, ok func(text string) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), program.Timeout)
	defer cancel()
	if err := v.Await(ctx, ok); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

func (v *terminal) awaitText(t *testing.T, words string) {
	t.Helper()
	v.awaitScreen(t, words, func(text string) bool { return strings.Contains(text, words) })
}

// awaitRow waits for a row that matches.
func (v *terminal) awaitRow(t *testing.T, pattern string) {
	t.Helper()
	v.awaitScreen(t, pattern, regexp.MustCompile("(?m)"+pattern).MatchString)
}

func (v *terminal) awaitTextGone(t *testing.T, words string) {
	t.Helper()
	v.awaitScreen(t, "end of "+words, func(text string) bool { return !strings.Contains(text, words) })
}

func (v *terminal) pressKeys(t *testing.T, keys string) {
	t.Helper()
	if err := v.Send(keys); err != nil {
		t.Fatal(err)
	}
}

// pressEscape presses esc once a text is visible, and waits until that is gone.
func (v *terminal) pressEscape(t *testing.T, from string) {
	t.Helper()
	v.awaitText(t, from)
	v.pressKeys(t, keyEsc)
	v.awaitTextGone(t, from)
}

func (v *terminal) resize(t *testing.T, cols, rows int) {
	t.Helper()
	if err := v.Resize(cols, rows); err != nil {
		t.Fatal(err)
	}
}

// awaitFilled waits until the view fills the screen after a change of its size: the
// titles of the panes are as wide as the screen, and no row was wider, since the
// rest of such a row would wrap to the next one.
func (v *terminal) awaitFilled(t *testing.T, cols, rows int) {
	t.Helper()
	v.awaitScreen(t, "screen that is filled", func(text string) bool {
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		queues := regexp.MustCompile(`(?m)^.Controllers ─.*─$`).FindAllString(text, -1)
		activity := regexp.MustCompile(`(?m)^.Activity ─.*─$`).FindAllString(text, -1)
		return len(lines) == rows && strings.HasPrefix(lines[0], " ctrlplane ") && strings.HasSuffix(lines[rows-1], "? help") &&
			len(queues) == 1 && len([]rune(queues[0])) == cols && len(activity) == 1 && len([]rune(activity[0])) == cols
	})
}

// requireExit waits for the end of the program and checks that it succeeded.
func (v *terminal) requireExit(t *testing.T) {
	t.Helper()
	select {
	case <-v.Done():
	case <-time.After(program.Timeout):
		t.Fatalf("still running after %v; the screen:\n%s", program.Timeout, v.Text())
	}
	if code := v.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d; the screen:\n%s", code, v.Text())
	}
	v.requireRestored(t)
}

// requireRestored checks that the terminal is as it was before the view.
func (v *terminal) requireRestored(t *testing.T) {
	t.Helper()
	changes, err := v.StateChanges()
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) > 0 {
		t.Errorf("the terminal is not restored: %s", strings.Join(changes, ", "))
	}
}

// requireScreenFromBefore checks that the screen is what it was before the view.
func (v *terminal) requireScreenFromBefore(t *testing.T) {
	t.Helper()
	if screen := v.Text(); !strings.Contains(screen, "Press Ctrl-C to stop.") {
		t.Errorf("the screen from before the view is not restored:\n%s", screen)
	}
}

// requireFullScreen checks that the view uses the whole screen.
func (v *terminal) requireFullScreen(t *testing.T) {
	t.Helper()
	changes, err := v.StateChanges()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mode 1049 is on", "mode 25 is off"} {
		if !slices.Contains(changes, want) {
			t.Errorf("got %q, want it to contain %q", changes, want)
		}
	}
}
