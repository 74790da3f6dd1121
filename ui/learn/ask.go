package learn

import (
	"regexp"
	"strconv"
	"strings"
)

func readAsk(y yamlBlock) (Part, error) {
	a := &Ask{Line: y.startLine - 1}
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
		return nil, parseErrorf(a.Line, "ask: missing question")
	case kinds != 1:
		return nil, parseErrorf(a.Line, "ask: set exactly one of choices, number, measure and pattern, not %d", kinds)
	case a.Answer != "" && a.Pattern == "":
		return nil, parseErrorf(y.lineOf("answer"), "answer needs pattern")
	case len(a.Choices) > 0 && a.Wrong != nil:
		return nil, parseErrorf(y.lineOf("wrong"), "wrong is only for numbers and texts: explain a choice in its why")
	}
	for _, check := range []func(yamlBlock) error{a.checkChoices, a.checkText, a.checkMeasure} {
		if err := check(y); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *Ask) checkChoices(y yamlBlock) error {
	right := 0
	for i, c := range a.Choices {
		line := y.lineOf("choices", i)
		switch {
		case c.Text == "":
			return parseErrorf(line, "choices: a choice has no text")
		case c.Right:
			right++
		case c.Why == "":
			return parseErrorf(line, "choices: explain why %q is wrong (why)", c.Text)
		}
	}
	switch {
	case len(a.Choices) == 0:
	case len(a.Choices) == 1 || len(a.Choices) > 9:
		return parseErrorf(y.lineOf("choices"), "choices: use 2 to 9, not %d", len(a.Choices))
	case right != 1:
		return parseErrorf(y.lineOf("choices"), "choices: exactly one has to be right, not %d", right)
	}
	return nil
}

func (a *Ask) checkText(y yamlBlock) error {
	for i, w := range a.Wrong {
		if _, err := compileWhole(w.Pattern); err != nil || w.Pattern == "" || w.Why == "" {
			return parseErrorf(y.lineOf("wrong", i), "wrong: set a pattern that is a regular expression, and why")
		}
	}
	if a.Pattern == "" {
		return nil
	}
	if _, err := compileWhole(a.Pattern); err != nil {
		return parseErrorf(y.lineOf("pattern"), "%w", err)
	}
	if !matchesWhole(a.Pattern, a.Answer) {
		return parseErrorf(y.lineOf("pattern"), "the answer %q does not match the pattern: --auto uses it as the right answer", a.Answer)
	}
	return nil
}

func (a *Ask) checkMeasure(y yamlBlock) error {
	if a.Measure == nil {
		return nil
	}
	a.Measure.Line = y.lineOf("measure")
	if err := a.Measure.validate(); err != nil {
		return err
	}
	if a.Measure.hasExpectation() {
		return parseErrorf(a.Measure.Line, "measure: leave out the expectation: the measured value is the answer")
	}
	return nil
}

// compileWhole compiles a pattern for a whole text, ignoring case. The pattern has to be valid on its
// own, as "a)(b" is not, and in the group, as one that ends within \Q is not.
func compileWhole(pattern string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, err
	}
	return regexp.Compile(`^(?i:` + pattern + `)$`)
}

// matchesWhole reports whether a pattern, which was compiled by checkText, matches a whole text.
func matchesWhole(pattern, text string) bool {
	whole, err := compileWhole(pattern)
	return err == nil && whole.MatchString(strings.TrimSpace(text))
}

// verdict is the judgement of an answer.
type verdict struct {
	right       bool
	why         string // why the answer is wrong, if there is an explanation
	notAnAnswer bool   // it does not count as an attempt
}

// judgeAnswer judges an answer. right is the right number, if the question asks for
// one.
func (a *Ask) judgeAnswer(answer string, right float64) verdict {
	answer = strings.TrimSpace(answer)
	switch {
	case len(a.Choices) > 0:
		return a.judgeChoice(answer)
	case a.Pattern != "":
		if matchesWhole(a.Pattern, answer) {
			return verdict{right: true}
		}
		return verdict{why: a.explainWrong(answer)}
	}
	n, err := strconv.ParseFloat(answer, 64)
	if err != nil {
		return rejectAnswer(answer, "Type a number.")
	}
	if n == right {
		return verdict{right: true}
	}
	return verdict{why: a.explainWrong(answer)}
}

// rejectAnswer says what an answer has to be. One of several words is most likely a command.
func rejectAnswer(answer, why string) verdict {
	if strings.Contains(answer, " ") {
		why += ` "! COMMAND" runs a command.`
	}
	return verdict{notAnAnswer: true, why: why}
}

// judgeChoice judges the letter or the number of a choice.
func (a *Ask) judgeChoice(answer string) verdict {
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
		return rejectAnswer(answer, "Type the letter of one of the answers.")
	}
	return verdict{right: a.Choices[at].Right, why: a.Choices[at].Why}
}

func (a *Ask) explainWrong(answer string) string {
	for _, w := range a.Wrong {
		if matchesWhole(w.Pattern, answer) {
			return w.Why
		}
	}
	return ""
}

// rightAnswer is the right answer in the form in which it is typed.
func (a *Ask) rightAnswer(right float64) string {
	for i, c := range a.Choices {
		if c.Right {
			return choiceLetter(i)
		}
	}
	if a.Pattern != "" {
		return a.Answer
	}
	return strconv.FormatFloat(right, 'g', -1, 64)
}

func choiceLetter(i int) string { return string(rune('a' + i)) }
