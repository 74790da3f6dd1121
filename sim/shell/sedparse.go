package shell

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// sedCommand is a command of a sed script.
type sedCommand struct {
	from, to *sedAddress
	negated  bool
	active   bool // between from and to
	until    int  // line at which a range with a number ends
	verb     byte
	text     string // of a, i, c; label of b, t and :; file of r and w
	re       *boundedRegexp
	with     string
	global   bool
	print    bool
	nth      int
	target   int // of b, t, { and }
	set      map[rune]rune
}

// sedAddress selects lines.
type sedAddress struct {
	line, step int
	last       bool
	re         *boundedRegexp
	plus       bool // addr,+N
}

// maxSedCommands bounds a script.
const maxSedCommands = 2000

var errSed = errors.New("bad script")

// sedParser parses a script.
type sedParser struct {
	p        *proc
	src      string
	extended bool
	last     *boundedRegexp // the empty regular expression means this one
	commands []sedCommand
	open     []int
}

func (s *sedParser) parse() error {
	for {
		s.src = strings.TrimLeft(s.src, " \t\n;")
		if s.src == "" {
			break
		}
		if len(s.commands) >= maxSedCommands {
			return fmt.Errorf("more than %d commands", maxSedCommands)
		}
		if err := s.command(); err != nil {
			return err
		}
	}
	if len(s.open) > 0 {
		return fmt.Errorf("unmatched {")
	}
	return s.resolve()
}

// resolve finds the targets of branches.
func (s *sedParser) resolve() error {
	labels := map[string]int{"": len(s.commands)}
	for i, c := range s.commands {
		if c.verb == ':' {
			labels[c.text] = i
		}
	}
	for i, c := range s.commands {
		if c.verb == 'b' || c.verb == 't' || c.verb == 'T' {
			target, ok := labels[c.text]
			if !ok {
				return fmt.Errorf("can't find label for jump to '%s'", c.text)
			}
			s.commands[i].target = target
		}
	}
	return nil
}

func (s *sedParser) command() (err error) {
	var c sedCommand
	if c.from, err = s.address(); err != nil {
		return err
	}
	if c.from != nil {
		s.src = strings.TrimLeft(s.src, " \t")
		if strings.HasPrefix(s.src, ",") {
			s.src = strings.TrimLeft(s.src[1:], " \t")
			if c.to, err = s.address(); err != nil {
				return err
			}
			if c.to == nil {
				return fmt.Errorf("unexpected ','")
			}
		}
	}
	s.src = strings.TrimLeft(s.src, " \t")
	for strings.HasPrefix(s.src, "!") {
		c.negated = true
		s.src = strings.TrimLeft(s.src[1:], " \t")
	}
	if s.src == "" {
		return fmt.Errorf("missing command")
	}
	c.verb = s.src[0]
	s.src = s.src[1:]
	switch c.verb {
	case '{':
		s.open = append(s.open, len(s.commands))
	case '}':
		if len(s.open) == 0 {
			return fmt.Errorf("unexpected '}'")
		}
		s.commands[s.open[len(s.open)-1]].target = len(s.commands)
		s.open = s.open[:len(s.open)-1]
	case 's':
		err = s.substitute(&c)
	case 'y':
		err = s.transliterate(&c)
	case 'a', 'i', 'c':
		c.text = s.textArgument()
	case ':', 'b', 't', 'T', 'r', 'w':
		end := strings.IndexAny(s.src, ";\n}")
		if c.verb == 'r' || c.verb == 'w' || c.verb == ':' {
			end = strings.IndexAny(s.src, "\n;")
		}
		if end < 0 {
			end = len(s.src)
		}
		c.text, s.src = strings.TrimSpace(s.src[:end]), s.src[end:]
	case 'q', 'Q':
		number := strings.TrimLeft(s.src, " ")
		end := 0
		for end < len(number) && number[end] >= '0' && number[end] <= '9' {
			end++
		}
		c.nth, _ = strconv.Atoi(number[:end])
		s.src = number[end:]
	case 'd', 'D', 'p', 'P', 'n', 'N', 'g', 'G', 'h', 'H', 'x', '=', 'l':
	case '#':
		if end := strings.IndexByte(s.src, '\n'); end >= 0 {
			s.src = s.src[end:]
		} else {
			s.src = ""
		}
		return nil
	default:
		return fmt.Errorf("unsupported command %c", c.verb)
	}
	s.commands = append(s.commands, c)
	return err
}

// textArgument is the text of a, i and c: in the lines after a backslash, or in the same line.
// There a backslash keeps the spaces after it.
func (s *sedParser) textArgument() string {
	s.src = strings.TrimLeft(s.src, " \t")
	if strings.HasPrefix(s.src, "\\") {
		s.src = s.src[1:]
		if text, ok := strings.CutPrefix(strings.TrimLeft(s.src, " \t"), "\n"); ok {
			s.src = text
		}
	}
	var b strings.Builder
	for i := 0; i < len(s.src); i++ {
		if s.src[i] == '\\' && i+1 < len(s.src) {
			i++
			b.WriteByte(textEscape(s.src[i]))
			continue
		}
		if s.src[i] == '\n' {
			s.src = s.src[i:]
			return b.String()
		}
		b.WriteByte(s.src[i])
	}
	s.src = ""
	return b.String()
}

// textEscape returns what a backslash and a character stand for in the text of a, i and c.
func textEscape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	}
	return c
}

func (s *sedParser) address() (*sedAddress, error) {
	if s.src == "" {
		return nil, nil
	}
	plus := s.src[0] == '+'
	if plus {
		s.src = s.src[1:]
	}
	end := 0
	for end < len(s.src) && s.src[end] >= '0' && s.src[end] <= '9' {
		end++
	}
	if end > 0 {
		a := &sedAddress{plus: plus}
		a.line, _ = strconv.Atoi(s.src[:end])
		s.src = s.src[end:]
		if strings.HasPrefix(s.src, "~") {
			s.src = s.src[1:]
			for end = 0; end < len(s.src) && s.src[end] >= '0' && s.src[end] <= '9'; end++ {
			}
			a.step, _ = strconv.Atoi(s.src[:end])
			s.src = s.src[end:]
		}
		return a, nil
	}
	switch s.src[0] {
	case '$':
		s.src = s.src[1:]
		return &sedAddress{last: true}, nil
	case '/', '\\':
		if s.src[0] == '\\' {
			s.src = s.src[1:]
		}
		if s.src == "" {
			return nil, errSed
		}
		delim := s.src[0]
		s.src = s.src[1:]
		text, err := s.until(delim, true)
		if err != nil {
			return nil, err
		}
		insensitive := strings.HasPrefix(s.src, "I")
		s.src = strings.TrimPrefix(s.src, "I")
		re, err := s.compile(text, insensitive)
		return &sedAddress{re: re}, err
	}
	return nil, nil
}

// until returns the text up to a delimiter.
func (s *sedParser) until(delim byte, pattern bool) (string, error) {
	var b strings.Builder
	bracket := false
	for i := 0; i < len(s.src); i++ {
		c := s.src[i]
		switch {
		case c == '\\' && i+1 < len(s.src):
			i++
			if s.src[i] != delim {
				b.WriteByte('\\')
			}
			b.WriteByte(s.src[i])
		case c == delim && !bracket:
			s.src = s.src[i+1:]
			return b.String(), nil
		default:
			if pattern && c == '[' && !bracket && bracketEnd(s.src[i:]) > 0 {
				end := bracketEnd(s.src[i:])
				b.WriteString(s.src[i : i+end+1])
				i += end
				continue
			}
			b.WriteByte(c)
		}
	}
	return "", fmt.Errorf("unterminated %c", delim)
}

func (s *sedParser) compile(text string, insensitive bool) (*boundedRegexp, error) {
	if text == "" {
		if s.last == nil {
			return nil, fmt.Errorf("no previous regexp")
		}
		return s.last, nil
	}
	pattern, err := translateRegexp(text, s.extended)
	if err != nil {
		return nil, err
	}
	if insensitive {
		pattern = "(?i)" + pattern
	}
	s.last, err = compileRegexp(s.p, pattern)
	return s.last, err
}

func (s *sedParser) substitute(c *sedCommand) error {
	if s.src == "" {
		return errSed
	}
	delim := s.src[0]
	s.src = s.src[1:]
	pattern, err := s.until(delim, true)
	if err != nil {
		return err
	}
	if c.with, err = s.until(delim, false); err != nil {
		return err
	}
	insensitive := false
	for len(s.src) > 0 {
		f := s.src[0]
		switch {
		case f == 'g':
			c.global = true
		case f == 'p':
			c.print = true
		case f == 'i' || f == 'I':
			insensitive = true
		case f >= '0' && f <= '9':
			c.nth = min(c.nth*10+int(f-'0'), 1<<20)
		case f == 'w' || f == 'e' || f == 'm':
			return fmt.Errorf("flag %c of s is not simulated", f)
		default:
			if strings.IndexByte(" \t\n;}#", f) < 0 {
				return fmt.Errorf("unknown option to 's'")
			}
			c.re, err = s.compile(pattern, insensitive)
			return err
		}
		s.src = s.src[1:]
	}
	c.re, err = s.compile(pattern, insensitive)
	return err
}

func (s *sedParser) transliterate(c *sedCommand) error {
	if s.src == "" {
		return errSed
	}
	delim := s.src[0]
	s.src = s.src[1:]
	from, err := s.until(delim, false)
	if err != nil {
		return err
	}
	to, err := s.until(delim, false)
	if err != nil {
		return err
	}
	a, b := []rune(ansiC(from)), []rune(ansiC(to))
	if len(a) != len(b) {
		return fmt.Errorf("y: strings have different lengths")
	}
	c.set = map[rune]rune{}
	for i := range a {
		c.set[a[i]] = b[i]
	}
	return nil
}
