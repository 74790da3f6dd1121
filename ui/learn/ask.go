package learn

import (
	"regexp"
	"strconv"
	"strings"
)

func readAsk(y block) (Part, error) {
	a := &Ask{Line: y.first - 1}
	if err := y.decode(a); err != nil {
		return nil, err
	}
	kinds := 0
	for _, is := range []bool{len(a.Choices) > 0, a.Number != nil, a.Measure != nil, a.Pattern != ""} {
		if is {
			kinds++
		}
	}
	switch {
	case a.Question == "":
		return nil, mistake(a.Line, "ask: there is no question")
	case kinds != 1:
		return nil, mistake(a.Line, "ask: set one of choices, number, measure and pattern, not %d", kinds)
	case a.Answer != "" && a.Pattern == "":
		return nil, mistake(y.lineOf("answer"), "answer is for pattern")
	case len(a.Choices) > 0 && a.Wrong != nil:
		return nil, mistake(y.lineOf("wrong"), "wrong is for numbers and texts: choices say themselves why they are wrong")
	}
	for _, check := range []func(block) error{a.checkChoices, a.checkText, a.checkMeasure} {
		if err := check(y); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *Ask) checkChoices(y block) error {
	right := 0
	for i, c := range a.Choices {
		line := y.lineOf("choices", i)
		switch {
		case c.Text == "":
			return mistake(line, "choices: a choice has no text")
		case c.Right:
			right++
		case c.Why == "":
			return mistake(line, "choices: say why %q is wrong (why)", c.Text)
		}
	}
	switch {
	case len(a.Choices) == 0:
	case len(a.Choices) == 1 || len(a.Choices) > 9:
		return mistake(y.lineOf("choices"), "choices: there have to be 2 to 9")
	case right != 1:
		return mistake(y.lineOf("choices"), "choices: one has to be right, not %d", right)
	}
	return nil
}

func (a *Ask) checkText(y block) error {
	for i, w := range a.Wrong {
		if _, err := regexp.Compile(w.Pattern); err != nil || w.Pattern == "" || w.Why == "" {
			return mistake(y.lineOf("wrong", i), "wrong: set a pattern that is a regular expression, and why it is wrong")
		}
	}
	if a.Pattern == "" {
		return nil
	}
	if _, err := regexp.Compile(a.Pattern); err != nil {
		return mistake(y.lineOf("pattern"), "%w", err)
	}
	if !fits(a.Pattern, a.Answer) {
		return mistake(y.lineOf("pattern"), "the answer %q does not fit the pattern: it is what --auto and the last hint say", a.Answer)
	}
	return nil
}

func (a *Ask) checkMeasure(y block) error {
	if a.Measure == nil {
		return nil
	}
	a.Measure.Line = y.lineOf("measure")
	if err := a.Measure.check(); err != nil {
		return err
	}
	if a.Measure.expects() {
		return mistake(a.Measure.Line, "measure: it gives the answer, and expects nothing of it")
	}
	return nil
}

// fits says whether the whole of a text is what a pattern describes, in any case.
func fits(pattern, text string) bool {
	return regexp.MustCompile(`^(?i:` + pattern + `)$`).MatchString(strings.TrimSpace(text))
}

// verdict is what there is to say about an answer.
type verdict struct {
	right bool
	why   string // of a wrong one, if there is something to say
	again bool   // it is no answer at all
}

// judge looks at an answer. right is the right number, where one is asked for.
func (a *Ask) judge(answer string, right float64) verdict {
	answer = strings.TrimSpace(answer)
	switch {
	case len(a.Choices) > 0:
		return a.choose(answer)
	case a.Pattern != "":
		if fits(a.Pattern, answer) {
			return verdict{right: true}
		}
		return verdict{why: a.explain(answer)}
	}
	n, err := strconv.ParseFloat(answer, 64)
	if err != nil {
		return verdict{again: true, why: "Type a number."}
	}
	if n == right {
		return verdict{right: true}
	}
	return verdict{why: a.explain(answer)}
}

// choose takes the letter or the number of a choice.
func (a *Ask) choose(answer string) verdict {
	at := -1
	if len(answer) == 1 {
		switch c := answer[0] | 0x20; {
		case c >= 'a' && c <= 'i':
			at = int(c - 'a')
		case answer[0] >= '1' && answer[0] <= '9':
			at = int(answer[0] - '1')
		}
	}
	if at < 0 || at >= len(a.Choices) {
		return verdict{again: true, why: "Type the letter of one of the answers."}
	}
	return verdict{right: a.Choices[at].Right, why: a.Choices[at].Why}
}

func (a *Ask) explain(answer string) string {
	for _, w := range a.Wrong {
		if fits(w.Pattern, answer) {
			return w.Why
		}
	}
	return ""
}

// solution is the right answer as one would type it.
func (a *Ask) solution(right float64) string {
	for i, c := range a.Choices {
		if c.Right {
			return letter(i)
		}
	}
	if a.Pattern != "" {
		return a.Answer
	}
	return strconv.FormatFloat(right, 'g', -1, 64)
}

func letter(i int) string { return string(rune('a' + i)) }
