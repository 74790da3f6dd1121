//go:build !windows

package screen

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func startScript(t *testing.T, script string) *Screen {
	t.Helper()
	s, err := Start(exec.CommandContext(t.Context(), "sh", "-c", script), 40, 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func awaitText(t *testing.T, s *Screen, words string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := s.Await(ctx, func(text string) bool { return strings.Contains(text, words) }); err != nil {
		t.Fatalf("no %q: %v", words, err)
	}
}

func sendKeys(t *testing.T, s *Screen, keys string) {
	t.Helper()
	if err := s.Send(keys); err != nil {
		t.Fatal(err)
	}
}

func TestScreenShowsOutput(t *testing.T) {
	s := startScript(t, `printf 'one \033[31mred\033[m\r\n'; read a; echo "got $a"; read b; stty size; read c; exit 3`)
	awaitText(t, s, "one red\n")
	sendKeys(t, s, "word\r")
	awaitText(t, s, "got word\n")
	if err := s.Resize(30, 6); err != nil {
		t.Fatal(err)
	}
	sendKeys(t, s, "\r")
	awaitText(t, s, "6 30\n")
	sendKeys(t, s, "\r")
	<-s.Done()
	if code := s.cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("exit code %d", code)
	}
	if lines := strings.Count(s.Text(), "\n"); lines != 6 {
		t.Errorf("%d lines", lines)
	}
}

func TestScreenAnswersQueries(t *testing.T) {
	for asks, answer := range map[string]string{
		`\033]11;?\007`: "^]11;rgb:0d0d/", // background color
		`\033[c`:        "^[?62;",         // device attributes
		`\033[?2026$p`:  "^[?2026;2$y",    // state of a mode
		`hello \033[6n`: "^[1;7R",         // cursor position
	} {
		t.Run(answer, func(t *testing.T) {
			s := startScript(t, fmt.Sprintf(`stty raw -echo; printf '%s'; head -c %d | tr '\033' '^'; read a`, asks, len(answer)))
			awaitText(t, s, answer)
		})
	}
}

func TestScreenShowsWholeFrames(t *testing.T) {
	s := startScript(t, `printf 'one\033[?2026h'; sleep 0.05; printf ' two'; sleep 0.05; printf ' three\033[?2026l'; read a`)
	var seen []string
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := s.Await(ctx, func(text string) bool {
		line, _, _ := strings.Cut(text, "\n")
		seen = append(seen, line)
		return strings.Contains(line, "three")
	}); err != nil {
		t.Fatal(err)
	}
	for _, line := range seen {
		if strings.HasSuffix(line, "two") {
			t.Errorf("an incomplete update was shown: %q", seen)
		}
	}
}

// A program may send margins for a screen that has been made smaller meanwhile.
func TestScreenSurvivesMarginsOfAnotherSize(t *testing.T) {
	s := startScript(t, `printf '\033[2;999r\033[500S\033[500T\033[999;1H\n\033[5L\033[5Mdone'; read a`)
	awaitText(t, s, "done")
}

func TestAwaitErrorShowsScreen(t *testing.T) {
	s := startScript(t, "echo something; exit 4")
	err := s.Await(t.Context(), func(string) bool { return false })
	if err == nil || !strings.Contains(err.Error(), "exit status 4") || !strings.Contains(err.Error(), "something") {
		t.Errorf("got %v", err)
	}
	s = startScript(t, "echo something; read a")
	awaitText(t, s, "something")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.Await(ctx, func(string) bool { return false }); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("got %v", err)
	}
}

func TestStateChanges(t *testing.T) {
	s := startScript(t, `was=$(stty -g); printf '\033[?1049h\033[?25l\033[?2004h\033[>1u'; stty raw; echo full; head -c 1 >/dev/null
		stty "$was"; printf '\033[?1049l\033[?25h\033[?2004l\033[<u'; echo back; head -c 1 >/dev/null`)
	awaitText(t, s, "full")
	for _, tc := range []struct {
		words string
		want  []string
	}{
		{"full", []string{"mode 1049 is on", "mode 2004 is on", "mode 25 is off", "1 levels of the keyboard protocol", "keys are read in a different mode"}},
		{"back", nil},
	} {
		awaitText(t, s, tc.words)
		got, err := s.StateChanges()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.words, diff)
		}
		sendKeys(t, s, "x\r")
	}
	<-s.Done()
	if got, err := s.StateChanges(); len(got) > 0 || err != nil {
		t.Errorf("got %v, %v after the end", got, err)
	}
}
