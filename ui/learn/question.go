package learn

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// askQuestion asks until the answer is right, or the reader gives up.
func (r *runner) askQuestion(ctx context.Context, a *Ask) error {
	if r.replaying {
		return nil
	}
	right, err := r.rightNumber(ctx, a)
	if err != nil {
		return err
	}
	r.printf("%s", r.wrap(r.cue("? "), "  ", r.bold(r.renderInline(r.substituteNamespace(a.Question)))))
	for i, c := range a.Choices {
		r.printf("%s", r.wrap("  "+r.bold(choiceLetter(i))+"  ", "     ", r.renderInline(c.Text)))
	}
	r.printf("\n")
	if r.Auto {
		return r.answerAutomatically(a, right)
	}
	for wrong := 0; ; {
		line, err := r.readLine(ctx, r.cue("Answer: "))
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
		if command, ok := strings.CutPrefix(line, "!"); ok || line == "quit" || line == "help" || line == "view" {
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

// rightNumber is the right number; 0 where none is asked for.
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
		return 0, fmt.Errorf("line %d: %s is no number: %s", a.Measure.Line, a.Measure.describeMeasure(), v)
	}
	return n, nil
}

// handleAside obeys what is no answer and needs no shell.
func (r *runner) handleAside(a *Ask, line string, wrong int, right float64) bool {
	switch line {
	case "":
		r.printf("%s\n", r.faint(`Type an answer; "hint", "skip", and "! COMMAND" to look.`))
	case "hint":
		if len(a.Hints) == 0 {
			r.printf("There is no hint; \"skip\" tells the answer.\n")
			break
		}
		r.printf("%s", r.wrap(r.cue("Hint: "), "  ", r.renderInline(r.substituteNamespace(a.Hints[min(wrong, len(a.Hints)-1)]))))
	case "skip":
		r.printf("It is %s.\n", r.bold(a.rightAnswer(right)))
		r.printExplanation(a)
	default:
		return false
	}
	return true
}

// printCorrection says what is wrong with an answer.
func (r *runner) printCorrection(a *Ask, v verdict, wrong *int) {
	text := v.why
	if !v.notAnAnswer {
		text = "No. " + v.why
	}
	r.printf("%s", r.wrap(r.bad(r.symbol("✗ ", "x ")), "  ", r.renderInline(r.substituteNamespace(text))))
	if v.notAnAnswer {
		return
	}
	if *wrong < len(a.Hints) {
		r.printf("%s", r.wrap(r.cue("Hint: "), "  ", r.renderInline(r.substituteNamespace(a.Hints[*wrong]))))
	}
	*wrong++
}

func (r *runner) printRight(a *Ask) {
	r.printf("%s\n", r.good(r.symbol("✓", "ok"))+" Right.")
	r.printExplanation(a)
}

// printExplanation explains the answer.
func (r *runner) printExplanation(a *Ask) {
	if a.Explain != "" {
		r.printf("%s", r.renderMarkdown(r.substituteNamespace(a.Explain)))
	}
	r.printf("\n")
}

// answerAutomatically answers right, and wrong first where there are choices.
func (r *runner) answerAutomatically(a *Ask, right float64) error {
	for i, c := range a.Choices {
		if v := a.judgeAnswer(choiceLetter(i), right); v.right != c.Right {
			return fmt.Errorf("line %d: answer %s is judged wrongly", a.Line, choiceLetter(i))
		}
	}
	answer := a.rightAnswer(right)
	r.printf("%s%s\n", r.cue("Answer: "), answer)
	if v := a.judgeAnswer(answer, right); !v.right {
		return fmt.Errorf("line %d: the answer %q is taken for wrong", a.Line, answer)
	}
	r.printRight(a)
	return nil
}

// settleTimeout is how long the end of all work is waited for before it is shown.
const settleTimeout = 2 * time.Second

// waitSettled waits until nothing is left to do, but not for long: something may be held.
func (r *runner) waitSettled(ctx context.Context) {
	_, _ = r.probe.awaitChecks(ctx, []*Check{{Settled: true}}, settleTimeout) // what is not done yet is not shown
}
