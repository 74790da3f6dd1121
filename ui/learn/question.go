package learn

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// askQuestion asks until the answer is right or the reader skips the question.
func (r *runner) askQuestion(ctx context.Context, a *Ask) error {
	if r.replaying {
		return nil
	}
	right, err := r.rightNumber(ctx, a)
	if err != nil {
		return err
	}
	if err := r.printPaged(ctx, r.formatQuestion(a)); err != nil {
		return err
	}
	if r.Auto {
		return r.answerAutomatically(a, right)
	}
	for wrong := 0; ; {
		line, err := r.readLine(ctx, r.formatCue("Answer: "))
		if err != nil {
			return err
		}
		line = strings.TrimSpace(line)
		if r.handleAside(a, line, wrong, right) {
			if line == "skip" {
				return nil
			}
			continue
		}
		if command, ok := strings.CutPrefix(line, "!"); ok || line == "quit" || line == "exit" || line == "view" || line == "page" {
			if _, err := r.handleGeneral(ctx, strings.TrimSpace(command)); err != nil {
				return err
			}
			continue
		}
		v := a.judgeAnswer(line, right)
		if v.right {
			r.printRight(a)
			return nil
		}
		r.printCorrection(a, v, &wrong)
	}
}

func (r *runner) formatQuestion(a *Ask) string {
	text := r.wrap(r.formatCue("? "), "  ", r.bold(r.renderInline(r.substituteNamespace(a.Question))))
	for i, c := range a.Choices {
		text += r.wrap("  "+r.bold(choiceLetter(i))+"  ", "     ", r.renderInline(r.substituteNamespace(c.Text)))
	}
	return text + "\n"
}

// helpText says what can be typed at a question.
func (a *Ask) helpText() string {
	answer := "an answer: a word or a name"
	switch {
	case len(a.Choices) > 0:
		answer = "the letter of an answer"
	case a.Number != nil || a.Measure != nil:
		answer = "an answer: a number"
	case isCommand.MatchString(a.Answer):
		answer = "an answer: a command, which is not run"
	}
	return "What you can type:\n\n- " + answer + `
- ` + "`hint`" + `: shows a hint
- ` + "`skip`" + `: shows the answer and goes on
- ` + "`! COMMAND`" + `: runs a command in a shell, such as ` + "`! kubectl get pods`" + `
- ` + "`view`" + `: opens the live view; ` + "`q`" + ` closes it
- ` + "`page`" + `: prints another link to the page of ` + "`--web`" + `
`
}

// rightNumber is the right number; 0 if the answer is not a number.
func (r *runner) rightNumber(ctx context.Context, a *Ask) (float64, error) {
	switch {
	case a.Number != nil:
		return *a.Number, nil
	case a.Measure == nil:
		return 0, nil
	}
	r.waitSettled(ctx)
	v, err := r.probe.measureCheck(ctx, a.Measure)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(v.text), 64)
	if err != nil || v.absent {
		if !r.Auto {
			return 0, r.failPart(a.Measure.Line, "the answer cannot be computed now")
		}
		return 0, r.failPart(a.Measure.Line, "%s is not a number: %s", a.Measure.describeMeasure(), v)
	}
	return n, nil
}

// handleAside handles lines that are neither answers nor commands.
func (r *runner) handleAside(a *Ask, line string, wrong int, right float64) bool {
	switch line {
	case "", "check", "next":
		if line != "" && a.expects(line) {
			return false
		}
		r.printf("%s\n", r.faint(`Type an answer, "hint", "skip", or "! COMMAND" to run a command; "help" lists all.`))
	case "help", "?":
		r.printf("%s\n", r.renderMarkdown(a.helpText()+r.leaveHelp()))
	case "hint":
		switch {
		case len(a.Hints) == 0 && len(a.Choices) > 0:
			r.printf("Try an answer: a wrong one says why it is wrong. \"skip\" shows the right one.\n")
			return true
		case len(a.Hints) == 0:
			r.printf("This question has no hint; \"skip\" shows the answer.\n")
			return true
		}
		r.printf("%s", r.wrap(r.formatCue("Hint: "), "  ", r.renderInline(r.substituteNamespace(a.Hints[min(wrong, len(a.Hints)-1)]))))
	case "skip":
		r.printf("The answer is %s.\n", r.bold(a.rightAnswer(right)))
		r.printExplanation(a)
	default:
		return false
	}
	return true
}

// printCorrection prints why an answer is wrong.
func (r *runner) printCorrection(a *Ask, v verdict, wrong *int) {
	text := v.why
	if !v.notAnAnswer {
		text = "No. " + v.why
	}
	r.printf("%s", r.wrap(r.bad(r.Glyph("✗ ", "x ")), "  ", r.renderInline(r.substituteNamespace(text))))
	if v.notAnAnswer {
		return
	}
	if *wrong < len(a.Hints) {
		r.printf("%s", r.wrap(r.formatCue("Hint: "), "  ", r.renderInline(r.substituteNamespace(a.Hints[*wrong]))))
	}
	*wrong++
}

func (r *runner) printRight(a *Ask) {
	r.printf("%s\n", r.good(r.Glyph("✓", "ok"))+" Right.")
	r.printExplanation(a)
}

// printExplanation prints the explanation of the right answer.
func (r *runner) printExplanation(a *Ask) {
	if a.Explain != "" {
		r.printf("%s", r.renderMarkdown(r.substituteNamespace(a.Explain)))
	}
	r.printf("\n")
}

// answerAutomatically checks the judgement of all choices, and gives the right answer.
func (r *runner) answerAutomatically(a *Ask, right float64) error {
	for i, c := range a.Choices {
		if v := a.judgeAnswer(choiceLetter(i), right); v.right != c.Right {
			return fmt.Errorf("line %d: the judgement of answer %s is wrong", a.Line, choiceLetter(i))
		}
	}
	answer := a.rightAnswer(right)
	r.printf("%s%s\n", r.formatCue("Answer: "), answer)
	if v := a.judgeAnswer(answer, right); !v.right {
		return fmt.Errorf("line %d: the right answer %q is judged as wrong", a.Line, answer)
	}
	r.printRight(a)
	return nil
}

// settleTimeout is how long to wait for the control plane to settle before showing what
// it did.
const settleTimeout = 2 * time.Second

// waitSettled waits a short time until the control plane has settled. It may never
// settle, for example because writes are held.
func (r *runner) waitSettled(ctx context.Context) {
	told := r.sayIfSlow("Waiting for the control plane to settle …")
	_, _ = r.probe.awaitChecks(ctx, []*Check{{Settled: true}}, settleTimeout) // unfinished work is just not shown
	if told() {
		r.printf("\n")
	}
}
