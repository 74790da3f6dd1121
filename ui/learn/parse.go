package learn

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/limitread"
	"github.com/ctrlplane/ctrlplane/internal/suggest"
)

// maxLessonBytes bounds the file of a lesson.
const maxLessonBytes = 4 << 20

// byteOrderMark is what some editors write at the beginning of a file in UTF-8.
const byteOrderMark = "\ufeff"

// parseLesson parses a lesson. Its error is a ParseErrors; the lesson then has what could be parsed.
func parseLesson(file string, data []byte) (*Lesson, error) {
	text := strings.TrimPrefix(string(data), byteOrderMark)
	p := &parser{file: file, lines: strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")}
	p.lesson = &Lesson{Name: strings.TrimSuffix(filepath.Base(file), ".md")}
	p.parse()
	if len(p.errs) > 0 {
		p.errs.Sort()
		return p.lesson, p.errs
	}
	return p.lesson, nil
}

// ReadFile parses a lesson in a file. Its error is a ParseErrors if the file can be read; the lesson then has what
// could be parsed.
func ReadFile(ctx context.Context, path string) (*Lesson, error) {
	data, err := limitread.FileContext(ctx, path, maxLessonBytes)
	if err != nil {
		return nil, err
	}
	return parseLesson(path, data)
}

// parser parses a file line by line.
type parser struct {
	file       string
	lines      []string
	lineNumber int // the last line read, from 1
	lesson     *Lesson
	step       *Step
	prose      []string
	proseLine  int
	errs       ParseErrors
}

// addError adds an error, or each of several joined ones. One without a line is about the last
// line read.
func (p *parser) addError(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			p.addError(e)
		}
		return
	}
	m, ok := errors.AsType[*ParseError](err)
	if !ok {
		m = &ParseError{Line: p.lineNumber, Why: err.Error()}
	}
	m.File = p.file
	p.errs = append(p.errs, m)
}

// parseErrorf returns a ParseError for a line.
func parseErrorf(line int, format string, args ...any) error {
	return &ParseError{Line: line, Why: fmt.Errorf(format, args...).Error()}
}

func (p *parser) nextLine() (string, bool) {
	if p.lineNumber >= len(p.lines) {
		return "", false
	}
	p.lineNumber++
	return p.lines[p.lineNumber-1], true
}

func (p *parser) parse() {
	if !p.parseFrontMatter() {
		return // where it ends is not known
	}
	for {
		l, ok := p.nextLine()
		if !ok {
			break
		}
		if err := p.parseLine(l); err != nil {
			p.addError(err)
		}
	}
	p.flushProse()
	p.checkTexts()
	if len(p.lesson.Steps) == 0 && p.step == nil {
		p.addError(parseErrorf(len(p.lines), `no step: begin one with a heading "## …"`))
	}
}

// parseFrontMatter parses the text between two lines "---" at the beginning, and reports
// whether there is one.
func (p *parser) parseFrontMatter() bool {
	if l, _ := p.nextLine(); strings.TrimSpace(l) != "---" {
		p.addError(parseErrorf(1, `a lesson begins with front matter: "---", title: …, "---"`))
		return false
	}
	body, ok := p.readUntil(func(l string) bool { return strings.TrimSpace(l) == "---" })
	if !ok {
		p.addError(parseErrorf(1, `the front matter has no end: close it with "---"`))
		return false
	}
	m, ok := yamlBlock{startLine: 2, text: body}.decode(p.lesson)
	if ok {
		p.lesson.validate(m)
	}
	for _, err := range m.errs {
		p.addError(err)
	}
	return true
}

// readUntil returns the lines before the one for which end is true, and skips that.
func (p *parser) readUntil(end func(string) bool) (string, bool) {
	var body []string
	for {
		l, ok := p.nextLine()
		if !ok {
			return "", false
		}
		if end(l) {
			return strings.Join(body, "\n"), true
		}
		body = append(body, l)
	}
}

var (
	headingLine = regexp.MustCompile(`^##\s+(.*?)\s*$`)
	fenceLine   = regexp.MustCompile("^( {0,3})(```+|~~~+)\\s*(.*?)\\s*$")
	commentLine = regexp.MustCompile(`^<!--\s*(.*?)\s*-->\s*$`)
)

func (p *parser) parseLine(l string) error {
	switch {
	case headingLine.MatchString(l):
		p.flushProse()
		p.step = &Step{Title: headingLine.FindStringSubmatch(l)[1], Line: p.lineNumber}
		p.lesson.Steps = append(p.lesson.Steps, p.step)
		if p.step.Title == "" {
			return parseErrorf(p.lineNumber, "the heading is empty")
		}
		return nil
	case fenceLine.MatchString(l):
		m := fenceLine.FindStringSubmatch(l)
		return p.parseBlock(len(m[1]), m[2], m[3])
	case commentLine.MatchString(l):
		return p.parseCondition(commentLine.FindStringSubmatch(l)[1])
	}
	if strings.TrimSpace(l) != "" && p.step == nil {
		p.step = &Step{} // for the rest of that text, so that this is reported once
		return parseErrorf(p.lineNumber, `text before the first step: begin one with a heading "## …"`)
	}
	if len(p.prose) == 0 {
		p.proseLine = p.lineNumber
	}
	p.prose = append(p.prose, l)
	return nil
}

// flushProse adds the collected prose to the step.
func (p *parser) flushProse() {
	text := strings.Trim(strings.Join(p.prose, "\n"), "\n ")
	p.prose = nil
	if text != "" {
		p.step.Parts = append(p.step.Parts, Prose{p.proseLine, text})
	}
}

// parseCondition parses a comment: "needs: go" skips the step if the program is not
// installed, "without: go" if it is. Other comments are ignored.
func (p *parser) parseCondition(text string) error {
	key, program, ok := strings.Cut(text, ":")
	program = strings.TrimSpace(program)
	if key = strings.TrimSpace(key); !ok || key != "needs" && key != "without" {
		return nil
	}
	if p.step == nil || program == "" || strings.ContainsAny(program, " /") {
		return parseErrorf(p.lineNumber, "%s: name one program, below the heading of a step", key)
	}
	if key == "needs" {
		p.step.Needs = program
	} else {
		p.step.Without = program
	}
	return nil
}

// textLanguages are the words after a fence that mean a listing.
var textLanguages = []string{"", "console", "diff", "go", "json", "mermaid", "python", "rust", "sh", "text", "yaml"}

// parseBlock parses a block up to the closing fence. Its lines are indented as its first one is.
func (p *parser) parseBlock(indent int, mark, info string) error {
	begin := p.lineNumber
	body, ok := p.readUntil(func(l string) bool { return closesFence(l, mark) })
	if !ok {
		return parseErrorf(begin, "the block has no end: close it with %s", mark)
	}
	body = unindent(body, indent)
	if p.step == nil {
		p.step = &Step{}
		return parseErrorf(begin, `a block before the first step: begin one with a heading "## …"`)
	}
	p.flushProse()
	word, rest, _ := strings.Cut(info, " ")
	y := yamlBlock{startLine: begin + 1, text: body}
	var part Part
	var err error
	switch {
	case blockReaders[word] != nil:
		part, err = blockReaders[word](y)
	case slices.Contains(textLanguages, word):
		part, err = parseCode(begin, word, strings.TrimSpace(rest), body)
	default:
		known := append(slices.Clone(textLanguages[1:]), blockNames...)
		hint := suggest.Hint(word, known, "use one of "+strings.Join(known, ", "))
		return parseErrorf(begin, "unknown block %q: %s", word, hint)
	}
	if part != nil {
		p.step.Parts = append(p.step.Parts, part)
	}
	return err
}

// closesFence reports whether a line ends the block that began with a mark: it has the same
// characters, at least as many, and nothing else.
func closesFence(l, mark string) bool {
	m := fenceLine.FindStringSubmatch(l)
	return m != nil && m[3] == "" && strings.HasPrefix(m[2], mark)
}

// unindent removes up to n spaces from the beginning of each line.
func unindent(text string, n int) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		indented := len(l) - len(strings.TrimLeft(l, " "))
		lines[i] = l[min(indented, n):]
	}
	return strings.Join(lines, "\n")
}

// parseCode returns a listing, which is also a file if the attribute names one.
func parseCode(line int, lang, attribute, body string) (Part, error) {
	c := &Code{Line: line, Lang: lang, Text: body}
	if attribute == "" {
		return c, nil
	}
	name, ok := strings.CutPrefix(attribute, "file=")
	if !ok || name == "" || strings.ContainsAny(name, " ") || !filepath.IsLocal(name) || filepath.Base(name) != name {
		return nil, parseErrorf(line, "unknown attribute %q: use file=NAME, a name without a folder", attribute)
	}
	c.File = name
	return c, nil
}
