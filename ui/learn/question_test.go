package learn

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/ui"
)

// asked returns what a reader sees who types these lines at a question.
func asked(t *testing.T, a *Ask, typed string) (shown string, err error) {
	t.Helper()
	var out bytes.Buffer
	r := &runner{lesson: &Lesson{}, shell: &shell{namespace: "lesson-1"}}
	r.console = &console{style: style{ui.Mode{}}, out: &out, in: newInput(strings.NewReader(typed)), rows: func() int { return 0 }}
	defer r.in.close()
	err = r.askQuestion(t.Context(), a)
	return out.String(), err
}

func TestWhatCanBeTypedAtAQuestion(t *testing.T) {
	four := 4.0
	number := &Ask{Question: "How many?", Number: &four}
	choices := &Ask{Question: "Which?", Choices: []Choice{{Text: "this", Right: true}, {Text: "that", Why: "no"}}}
	for _, leave := range []string{"quit", "exit"} {
		if shown, err := asked(t, number, leave+"\n"); !errors.Is(err, errReaderLeft) || strings.Contains(shown, "Type a number") {
			t.Errorf("%s: %v\n%s", leave, err, shown)
		}
	}
	for _, help := range []string{"help", "?"} {
		for want, a := range map[string]*Ask{"an answer: a number": number, "the letter of an answer": choices} {
			shown, err := asked(t, a, help+"\nskip\n")
			if err != nil || strings.Contains(shown, "Type") || !strings.Contains(shown, want) || !strings.Contains(shown, "! COMMAND") {
				t.Errorf("%s: %v\n%s", help, err, shown)
			}
		}
	}
}

// What was typed at the wrong place is not a wrong answer.
func TestCommandsAreNotAnswers(t *testing.T) {
	four := 4.0
	for name, a := range map[string]*Ask{
		"number": {Question: "How many?", Number: &four},
		"text":   {Question: "Which?", Pattern: "web", Answer: "web"},
		"choice": {Question: "Which?", Choices: []Choice{{Text: "this", Right: true}, {Text: "that", Why: "no"}}},
	} {
		for _, typed := range []string{"check", "kubectl delete deploy web"} {
			shown, err := asked(t, a, typed+"\nskip\n")
			if err != nil || strings.Contains(shown, "No.") || !strings.Contains(shown, "! COMMAND") {
				t.Errorf("%s, %s: %v\n%s", name, typed, err, shown)
			}
		}
	}
}

// Words that a question expects are answers, also those that mean something else at other prompts.
func TestExpectedWordsAreAnswers(t *testing.T) {
	a := &Ask{Question: "Which word?", Pattern: "next", Answer: "next", Wrong: []WrongAnswer{{"check", "That looks only."}}}
	if shown, err := asked(t, a, "check\nnext\n"); err != nil || !strings.Contains(shown, "No. That looks only.") {
		t.Errorf("%v\n%s", err, shown)
	}
}

func TestChoicesNameTheNamespace(t *testing.T) {
	a := &Ask{Question: "Where?", Choices: []Choice{{Text: "in `$NS`", Right: true}, {Text: "elsewhere", Why: "no"}}}
	if shown, err := asked(t, a, "a\n"); err != nil || !strings.Contains(shown, "lesson-1") || strings.Contains(shown, "$NS") {
		t.Errorf("%v\n%s", err, shown)
	}
}

// A link opens the page once: page prints another one, at every prompt.
func TestPageLink(t *testing.T) {
	links := 0
	for _, tc := range []struct {
		page func() string
		want string
	}{
		{nil, "This lesson has no page: begin it with --web."},
		{func() string { links++; return fmt.Sprintf("http://127.0.0.1:1/#%d", links) }, "Page, can be opened once:\n  http://127.0.0.1:1/#1\nPage, can be opened once:\n  http://127.0.0.1:1/#2\n"},
	} {
		var out bytes.Buffer
		r := &runner{lesson: &Lesson{}, shell: &shell{namespace: "lesson-1"}, Options: Options{Page: tc.page}}
		r.console = &console{style: style{ui.Mode{}}, out: &out, in: newInput(strings.NewReader("page\nquit\n")), rows: func() int { return 0 }}
		defer r.in.close()
		if known, err := r.handleGeneral(t.Context(), "page"); !known || err != nil {
			t.Errorf("got %t, %v", known, err)
		}
		four := 4.0
		if err := r.askQuestion(t.Context(), &Ask{Question: "How many?", Number: &four}); !errors.Is(err, errReaderLeft) {
			t.Errorf("got %v", err)
		}
		if got := strings.ReplaceAll(out.String(), "? How many?\n\nAnswer: page\n", ""); !strings.Contains(got, tc.want) {
			t.Errorf("got\n%s\nwant\n%s", got, tc.want)
		}
	}
}

// A command that fails without a word is not described by its last line.
func TestFailedCommand(t *testing.T) {
	for output, want := range map[string]string{
		"":            `"test -e done" failed with exit code 1`,
		"\n":          `"test -e done" failed with exit code 1`,
		"one\ntwo.\n": `"test -e done" failed with exit code 1: two.`,
	} {
		if got := failedCommand("test -e done", 1, output).Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Help names the command that continues this lesson, except at its first step and at its end.
func TestHelpSaysHowToContinue(t *testing.T) {
	four := 4.0
	for step, want := range []bool{false, true, false} {
		var out bytes.Buffer
		r := &runner{lesson: &Lesson{Steps: []*Step{{}, {}}}, shell: &shell{namespace: "lesson-1"}, step: step, Options: Options{Resume: "ctrlplane learn 4 --resume"}}
		r.console = &console{style: style{ui.Mode{}}, out: &out, in: newInput(strings.NewReader("skip\n")), rows: func() int { return 0 }}
		defer r.in.close()
		r.handleAside(&Ask{Number: &four}, "help", 0, four)
		if _, err := r.handleGeneral(t.Context(), "help"); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "leaves the lesson; \"ctrlplane learn 4 --resume\" continues it"); want && n != 2 || !want && n != 0 {
			t.Errorf("step %d: said %d times in:\n%s", step, n, out.String())
		}
	}
}
