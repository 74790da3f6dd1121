package learn

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// question asks until the answer is right, or the reader gives up.
func (r *runner) question(ctx context.Context, a *Ask) error {
	if r.quiet {
		return nil
	}
	right, err := r.right(ctx, a)
	if err != nil {
		return err
	}
	r.printf("%s", r.wrap(r.cue("? "), "  ", r.strong(r.inline(r.named(a.Question)))))
	for i, c := range a.Choices {
		r.printf("%s", r.wrap("  "+r.strong(letter(i))+"  ", "     ", r.inline(c.Text)))
	}
	r.printf("\n")
	if r.Auto {
		return r.answerIt(a, right)
	}
	for wrong := 0; ; {
		line, err := r.ask(ctx, r.cue("Answer: "))
		if err != nil {
			return err
		}
		line = strings.TrimSpace(line)
		if r.asides(a, line, wrong, right) {
			if line == "skip" {
				return nil
			}
			continue
		}
		if command, ok := strings.CutPrefix(line, "!"); ok || line == "quit" || line == "help" || line == "view" {
			if _, err := r.general(ctx, strings.TrimSpace(command)); err != nil {
				return err
			}
			continue
		}
		v := a.judge(line, right)
		if v.right {
			r.applaud(a)
			return nil
		}
		r.correct(a, v, &wrong)
	}
}

// right is the right number; 0 where none is asked for.
func (r *runner) right(ctx context.Context, a *Ask) (float64, error) {
	switch {
	case a.Number != nil:
		return *a.Number, nil
	case a.Measure == nil:
		return 0, nil
	}
	r.settle(ctx)
	v, err := r.probe.measure(ctx, a.Measure)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(v.text), 64)
	if err != nil || v.gone {
		return 0, fmt.Errorf("line %d: %s is no number: %s", a.Measure.Line, a.Measure.what(), v)
	}
	return n, nil
}

// asides obeys what is no answer and needs no shell.
func (r *runner) asides(a *Ask, line string, wrong int, right float64) bool {
	switch line {
	case "":
		r.printf("%s\n", r.faint(`Type an answer; "hint", "skip", and "! COMMAND" to look.`))
	case "hint":
		if len(a.Hints) == 0 {
			r.printf("There is no hint; \"skip\" tells the answer.\n")
			break
		}
		r.printf("%s", r.wrap(r.cue("Hint: "), "  ", r.inline(r.named(a.Hints[min(wrong, len(a.Hints)-1)]))))
	case "skip":
		r.printf("It is %s.\n", r.strong(a.solution(right)))
		r.told(a)
	default:
		return false
	}
	return true
}

// correct says what is wrong with an answer.
func (r *runner) correct(a *Ask, v verdict, wrong *int) {
	text := v.why
	if !v.again {
		text = "No. " + v.why
	}
	r.printf("%s", r.wrap(r.bad(r.mark("✗ ", "x ")), "  ", r.inline(r.named(text))))
	if v.again {
		return
	}
	if *wrong < len(a.Hints) {
		r.printf("%s", r.wrap(r.cue("Hint: "), "  ", r.inline(r.named(a.Hints[*wrong]))))
	}
	*wrong++
}

func (r *runner) applaud(a *Ask) {
	r.printf("%s\n", r.good(r.mark("✓", "ok"))+" Right.")
	r.told(a)
}

// told explains the answer.
func (r *runner) told(a *Ask) {
	if a.Explain != "" {
		r.printf("%s", r.markdown(r.named(a.Explain)))
	}
	r.printf("\n")
}

// answerIt answers right, and wrong first where there are choices.
func (r *runner) answerIt(a *Ask, right float64) error {
	for i, c := range a.Choices {
		if v := a.judge(letter(i), right); v.right != c.Right {
			return fmt.Errorf("line %d: answer %s is judged wrongly", a.Line, letter(i))
		}
	}
	answer := a.solution(right)
	r.printf("%s%s\n", r.cue("Answer: "), answer)
	if v := a.judge(answer, right); !v.right {
		return fmt.Errorf("line %d: the answer %q is taken for wrong", a.Line, answer)
	}
	r.applaud(a)
	return nil
}

// settleTime is how long the end of all work is waited for before it is shown.
const settleTime = 2 * time.Second

// settle waits until nothing is left to do, but not for long: something may be held.
func (r *runner) settle(ctx context.Context) {
	_, _ = r.probe.await(ctx, []*Check{{Settled: true}}, settleTime) // what is not done yet is not shown
}
