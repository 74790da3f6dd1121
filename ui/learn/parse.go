package learn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/suggest"
)

// Parse reads a lesson. Its error is a *Mistake.
func Parse(file string, data []byte) (*Lesson, error) {
	p := &parser{file: file, lines: strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")}
	p.lesson = &Lesson{Name: strings.TrimSuffix(filepath.Base(file), ".md")}
	if err := p.parse(); err != nil {
		var m *Mistake
		if !errors.As(err, &m) {
			m = &Mistake{Line: p.at, Why: err.Error()}
		}
		m.File = file
		return nil, m
	}
	return p.lesson, nil
}

// ReadFile reads a lesson from a file.
func ReadFile(path string) (*Lesson, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// parser goes through a file line by line.
type parser struct {
	file      string
	lines     []string
	at        int // the line that was read last, from 1
	lesson    *Lesson
	step      *Step
	prose     []string
	proseLine int
}

// mistake is one on a line.
func mistake(line int, format string, args ...any) error {
	return &Mistake{Line: line, Why: fmt.Errorf(format, args...).Error()}
}

func (p *parser) next() (string, bool) {
	if p.at >= len(p.lines) {
		return "", false
	}
	p.at++
	return p.lines[p.at-1], true
}

func (p *parser) parse() error {
	if err := p.front(); err != nil {
		return err
	}
	for {
		l, ok := p.next()
		if !ok {
			break
		}
		if err := p.line(l); err != nil {
			return err
		}
	}
	p.flush()
	if len(p.lesson.Steps) == 0 {
		return mistake(len(p.lines), `there is no step: begin one with a heading "## …"`)
	}
	return nil
}

// front reads what stands between two lines "---" at the beginning.
func (p *parser) front() error {
	if l, _ := p.next(); strings.TrimSpace(l) != "---" {
		return mistake(1, `a lesson begins with front matter: "---", title: …, "---"`)
	}
	body, ok := p.until(func(l string) bool { return strings.TrimSpace(l) == "---" })
	if !ok {
		return mistake(1, `the front matter has no end: close it with "---"`)
	}
	y := block{first: 2, text: body}
	if err := y.decode(p.lesson); err != nil {
		return err
	}
	return p.lesson.check(y)
}

// until returns the lines before one that ends them, which is read, too.
func (p *parser) until(end func(string) bool) (string, bool) {
	var body []string
	for {
		l, ok := p.next()
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
	heading = regexp.MustCompile(`^##\s+(.*?)\s*$`)
	fence   = regexp.MustCompile("^(```+)\\s*(.*?)\\s*$")
	comment = regexp.MustCompile(`^<!--\s*(.*?)\s*-->\s*$`)
)

func (p *parser) line(l string) error {
	switch {
	case heading.MatchString(l):
		p.flush()
		p.step = &Step{Title: heading.FindStringSubmatch(l)[1], Line: p.at}
		p.lesson.Steps = append(p.lesson.Steps, p.step)
		if p.step.Title == "" {
			return mistake(p.at, "the heading is empty")
		}
		return nil
	case fence.MatchString(l):
		m := fence.FindStringSubmatch(l)
		return p.fenced(m[1], m[2])
	case comment.MatchString(l):
		return p.condition(comment.FindStringSubmatch(l)[1])
	}
	if strings.TrimSpace(l) != "" && p.step == nil {
		return mistake(p.at, `text before the first step: begin one with a heading "## …"`)
	}
	if len(p.prose) == 0 {
		p.proseLine = p.at
	}
	p.prose = append(p.prose, l)
	return nil
}

// flush ends a piece of prose.
func (p *parser) flush() {
	text := strings.Trim(strings.Join(p.prose, "\n"), "\n ")
	p.prose = nil
	if text != "" {
		p.step.Parts = append(p.step.Parts, Prose{p.proseLine, text})
	}
}

// condition reads a comment: "needs: go" leaves the step out where there is no
// such program, "without: go" where there is. Others mean nothing.
func (p *parser) condition(text string) error {
	key, program, ok := strings.Cut(text, ":")
	program = strings.TrimSpace(program)
	if key = strings.TrimSpace(key); !ok || key != "needs" && key != "without" {
		return nil
	}
	if p.step == nil || program == "" || strings.ContainsAny(program, " /") {
		return mistake(p.at, "%s: name one program, below the heading of the step that it is about", key)
	}
	if key == "needs" {
		p.step.Needs = program
	} else {
		p.step.Without = program
	}
	return nil
}

// languages are the words behind a fence that mean text to read only.
var languages = []string{"", "console", "diff", "go", "json", "mermaid", "python", "rust", "sh", "text", "yaml"}

// fenced reads a block up to the fence that closes it.
func (p *parser) fenced(mark, info string) error {
	begin := p.at
	body, ok := p.until(func(l string) bool { return strings.TrimRight(l, " ") == mark })
	if !ok {
		return mistake(begin, "the block has no end: close it with %s", mark)
	}
	if p.step == nil {
		return mistake(begin, `a block before the first step: begin one with a heading "## …"`)
	}
	p.flush()
	word, rest, _ := strings.Cut(info, " ")
	y := block{first: begin + 1, text: body}
	var part Part
	var err error
	switch {
	case readers[word] != nil:
		part, err = readers[word](y)
	case slices.Contains(languages, word):
		part, err = code(begin, word, strings.TrimSpace(rest), body)
	default:
		known := append(slices.Clone(languages[1:]), blockNames...)
		hint := "use one of " + strings.Join(known, ", ")
		if near, ok := suggest.Nearest(word, known); ok {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return mistake(begin, "unknown block %q: %s", word, hint)
	}
	if err != nil {
		return err
	}
	p.step.Parts = append(p.step.Parts, part)
	return nil
}

// code is a block to read, and a file if it is named.
func code(line int, lang, attribute, body string) (Part, error) {
	c := &Code{Line: line, Lang: lang, Text: body}
	if attribute == "" {
		return c, nil
	}
	name, ok := strings.CutPrefix(attribute, "file=")
	if !ok || name == "" || strings.ContainsAny(name, " ") || !filepath.IsLocal(name) || filepath.Base(name) != name {
		return nil, mistake(line, "%q is not known here: use file=NAME, a name without a folder", attribute)
	}
	c.File = name
	return c, nil
}
