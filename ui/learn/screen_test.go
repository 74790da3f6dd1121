package learn

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/ui"
)

// pacedReader presses Enter at each prompt, and notes how many rows were printed since the
// last one.
type pacedReader struct {
	screen  bytes.Buffer
	count   func(string) int
	screens []string
}

func (p *pacedReader) Read(b []byte) (int, error) {
	p.screens = append(p.screens, p.screen.String())
	p.screen.Reset()
	b[0] = '\n'
	return 1, nil
}

// screensOf returns what a reader sees from one prompt to the next.
func screensOf(t *testing.T, l *Lesson, step *Step, columns, rows int) []string {
	t.Helper()
	p := &pacedReader{}
	mode := ui.Mode{Width: func() int { return columns }}
	r := &runner{lesson: l, shell: &shell{namespace: l.Namespace(), dir: t.TempDir()}}
	r.console = &console{style: style{mode}, out: &p.screen, in: newInput(io.Reader(p)), rows: func() int { return rows }}
	p.count = r.countRows
	defer r.in.close()
	prompt := func(part Part) {
		switch part := part.(type) {
		case *Do:
			if _, err := r.readCommandLine(t.Context(), r.shellPrompt()); err != nil {
				t.Fatal(err)
			}
			r.printPassed(part.Until)
		case *Ask:
			if _, err := r.readLine(t.Context(), "Answer: "); err != nil {
				t.Fatal(err)
			}
			r.printRight(part)
		}
	}
	r.printf("\n%s\n\n", step.Title)
	for _, part := range step.Parts {
		text := ""
		switch part := part.(type) {
		case Prose:
			text = r.renderMarkdown(part.Text) + "\n"
		case *Code:
			text = r.renderCode(part) + "\n"
		case *Do:
			text = r.formatTask(part)
		case *Show:
			text = r.formatShown(part, strings.Repeat("shown\n", 200), "a command")
		case *Ask:
			text = r.formatQuestion(part)
		}
		if err := r.printPaged(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		prompt(part)
	}
	return append(p.screens, p.screen.String())
}

// A trace is not cut within a line that continues on the next one.
func TestShownTraceIsCutBetweenLines(t *testing.T) {
	lines := strings.Split("What a set off\n\n    +1.2 s  a\n  +119 ms   had a conflict when\n            │  it tried to\n              update it\n    +3.4 s  z", "\n")
	for most, want := range map[int]int{1: 1, 3: 3, 4: 3, 5: 3, 6: 6, 7: 7, 40: 40} {
		if got := cutBefore(lines, most); got != want {
			t.Errorf("at most %d: got %d, want %d", most, got, want)
		}
	}
	if got := cutBefore([]string{continuation + "a", continuation + "b"}, 1); got != 1 {
		t.Errorf("got %d of lines that all continue", got)
	}
}

// Only a trace is cut between its lines, and nothing of which the rest needs no more room than the note.
func TestShownTextIsCutAtItsNumberOfLines(t *testing.T) {
	r := &runner{}
	r.console = &console{style: style{ui.Mode{}}}
	deep := strings.Repeat("a\n", 3) + strings.Repeat(continuation+"b\n", 5)
	for name, tc := range map[string]struct {
		show  Show
		lines int
		want  string // the last line
	}{
		"output of a command":         {Show{Command: "x", Lines: 5}, 6, "  and 3 more lines"},
		"one line more":               {Show{Command: "x", Lines: 7}, 8, "  " + continuation + "b"},
		"trace":                       {Show{Trace: "x", Lines: 5}, 3, "  and 6 more lines"},
		"why":                         {Show{Why: "x", Lines: 5}, 3, "  and 6 more lines"},
		"trace with one line more":    {Show{Trace: "x", Lines: 7}, 8, "  " + continuation + "b"},
		"trace with all of its lines": {Show{Trace: "x", Lines: 8}, 8, "  " + continuation + "b"},
	} {
		got := strings.Split(strings.TrimSpace("x\n"+r.formatShown(&tc.show, deep, "")), "\n")[1:]
		if len(got) != tc.lines || got[len(got)-1] != tc.want {
			t.Errorf("%s: got %d lines:\n%s", name, len(got), strings.Join(got, "\n"))
		}
	}
}

// What a step says from one prompt to the next fits on a projector.
func TestEveryStepFitsOnTheScreen(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int{{100, 30}, {80, 24}} {
		for _, l := range all {
			for _, step := range l.Steps {
				for i, screen := range screensOf(t, l, step, size[0], size[1]) {
					if rows := (style{ui.Mode{Width: func() int { return size[0] }}}).countRows(screen); rows > size[1] {
						t.Errorf("%dx%d: %s, step %q, screen %d has %d rows:\n%s", size[0], size[1], l.Name, step.Title, i+1, rows, screen)
					}
				}
			}
		}
	}
}

// Most of a lesson is not interrupted: a step is short enough, or has tasks in between.
func TestLessonsAreSeldomPaged(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		for _, step := range l.Steps {
			stops := 0
			for _, part := range step.Parts {
				switch part.(type) {
				case *Do, *Ask:
					stops++
				}
			}
			if extra := len(screensOf(t, l, step, 100, 30)) - 1 - stops; extra > 5 {
				t.Errorf("%s, step %q: the reader has to press Enter %d times in it", l.Name, step.Title, extra)
			}
		}
	}
}

func TestCountRows(t *testing.T) {
	s := style{ui.Mode{Width: func() int { return 10 }}}
	for text, want := range map[string]int{"": 0, "a": 0, "a\n": 1, "0123456789\n": 1, "0123456789a\n": 2, "\x1b[1m0123456789\x1b[m\nb\n": 2} {
		if got := s.countRows(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}
