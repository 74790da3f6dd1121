package learn

import (
	"regexp"
	"strconv"
	"strings"
)

func readAsk(y yamlBlock) (Part, error) {
	a := &Ask{Line: y.startLine - 1}
	m, ok := y.decode(a)
	if !ok {
		return nil, m.err()
	}
	kinds := 0
	for _, is := range []bool{len(a.Choices) > 0, a.Number != nil, a.Measure != nil, a.Pattern != ""} {
		if is {
			kinds++
		}
	}
	m.requireUnless(a.Question == "", a.Line, "ask: missing question")
	m.requireOne(kinds, a.Line, "ask: set exactly one of choices, number, measure and pattern, not %d")
	m.requireUnless(a.Answer != "" && a.Pattern == "", y.lineOf("answer"), "answer needs pattern")
	m.rejectIf(len(a.Choices) > 0 && a.Wrong != nil, y.lineOf("wrong"), "wrong is only for numbers and texts: explain a choice in its why")
	m.checkChoices(a.Choices)
	m.checkText(a)
	if a.Measure != nil {
		a.Measure.Line = y.lineOf("measure")
		m.check(a.Measure)
		m.rejectIf(a.Measure.hasExpectation(), a.Measure.Line, "measure: leave out the expectation: the measured value is the answer")
	}
	return a, m.err()
}

func (m *mistakes) checkChoices(list []Choice) {
	right := 0
	for i, c := range list {
		line := m.lineOf("choices", i)
		m.requireUnless(c.Text == "", line, "choices: a choice has no text")
		m.requireUnless(c.Text != "" && !c.Right && c.Why == "", line, "choices: explain why %q is wrong (why)", c.Text)
		if c.Right {
			right++
		}
	}
	if n := len(list); n > 0 {
		m.requireUnless(n == 1 || n > 9, m.lineOf("choices"), "choices: use 2 to 9, not %d", n)
		m.requireUnless(n > 1 && right != 1, m.lineOf("choices"), "choices: exactly one has to be right, not %d", right)
	}
}

func (m *mistakes) checkText(a *Ask) {
	for i, w := range a.Wrong {
		_, err := compileWhole(w.Pattern)
		m.rejectIf(err != nil, m.lineOf("wrong", i), "%w", err)
		m.requireUnless(w.Pattern == "" || w.Why == "", m.lineOf("wrong", i), "wrong: set a pattern, a regular expression, and why")
	}
	if a.Pattern == "" {
		return
	}
	_, err := compileWhole(a.Pattern)
	m.rejectIf(err != nil, m.lineOf("pattern"), "%w", err)
	m.requireUnless(err == nil && !matchesWhole(a.Pattern, a.Answer), m.lineOf("pattern"), "the answer %q does not match the pattern: --auto uses it as the right answer", a.Answer)
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
		if !a.expects(answer) && isCommand.MatchString(answer) && !isCommand.MatchString(a.Answer) {
			return rejectAnswer("Type a word or a name.")
		}
		return verdict{right: matchesWhole(a.Pattern, answer), why: a.explainWrong(answer)}
	}
	n, err := strconv.ParseFloat(answer, 64)
	if err != nil {
		return rejectAnswer("Type a number.")
	}
	if n == right {
		return verdict{right: true}
	}
	return verdict{why: a.explainWrong(answer)}
}

// expects reports whether the question has a judgement for a text.
func (a *Ask) expects(answer string) bool {
	return a.Pattern != "" && (matchesWhole(a.Pattern, answer) || a.explainWrong(answer) != "")
}

// isCommand matches what is a command rather than a text.
var isCommand = regexp.MustCompile(`^(kubectl|ctrlplane)( |$)`)

// rejectAnswer says what an answer has to be: what was typed is most likely a command.
func rejectAnswer(why string) verdict {
	return verdict{notAnAnswer: true, why: why + ` "! COMMAND" runs a command.`}
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
		return rejectAnswer("Type the letter of one of the answers.")
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
