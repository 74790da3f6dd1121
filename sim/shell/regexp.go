package shell

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	// maxPattern is how long a regular expression may be, and maxProgram how
	// many instructions it may compile to.
	maxPattern = 8 << 10
	maxProgram = 2 << 10
	// maxMatch bounds instructions times length of a match, which cannot be
	// interrupted.
	maxMatch = 2 << 20
)

// boundedRegexp is a regular expression whose matching takes a bounded time.
type boundedRegexp struct {
	re   *regexp.Regexp
	size int
}

func compileRegexp(p *proc, pattern string) (*boundedRegexp, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("bad regular expression: longer than %d bytes", maxPattern)
	}
	p.step(1 + len(pattern)/8)
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("bad regular expression: %w", err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("bad regular expression: %w", err)
	}
	if len(prog.Inst) > maxProgram {
		return nil, fmt.Errorf("bad regular expression: too complex for the simulation")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("bad regular expression: %w", err)
	}
	return &boundedRegexp{re: re, size: len(prog.Inst)}, nil
}

// charge counts the work of a match; a match that would take too long fails.
func (b *boundedRegexp) charge(p *proc, n int) bool {
	p.step(1 + n/16)
	return n <= maxMatch/b.size
}

func (b *boundedRegexp) mustCharge(p *proc, n int) {
	if !b.charge(p, n) {
		failExpansion("line too long for this regular expression in the simulation")
	}
}

// find returns the match and the groups in it, as indexes, or nil.
func (b *boundedRegexp) find(p *proc, s string) []int {
	b.mustCharge(p, len(s))
	return b.re.FindStringSubmatchIndex(s)
}

func (b *boundedRegexp) matches(p *proc, s string) bool {
	b.mustCharge(p, len(s))
	return b.re.MatchString(s)
}

// group returns the text of a group of a match.
func group(s string, m []int, n int) string {
	if 2*n+1 >= len(m) || m[2*n] < 0 {
		return ""
	}
	return s[m[2*n]:m[2*n+1]]
}

// translateRegexp turns a POSIX regular expression into one of Go. Basic
// ones have the special meaning of (){}|+? with a backslash.
func translateRegexp(s string, extended bool) (string, error) {
	var b strings.Builder
	start := true // of an expression: * is literal there
	for i := 0; i < len(s); i++ {
		c := s[i]
		wasStart := start
		start = false
		switch {
		case c == '[':
			end := bracketEnd(s[i:])
			if end < 0 {
				return "", fmt.Errorf("unmatched [")
			}
			b.WriteString(translateBracket(s[i+1 : i+end]))
			i += end
		case c == '\\':
			if i++; i == len(s) {
				return "", fmt.Errorf("trailing backslash")
			}
			text, err := translateEscape(s[i], extended)
			if err != nil {
				return "", err
			}
			start = text == "(" || text == "|"
			b.WriteString(text)
		case c == '*' && wasStart:
			b.WriteString(`\*`)
		case c == '{' && extended && (i+1 == len(s) || s[i+1] < '0' || s[i+1] > '9'), !extended && strings.IndexByte("(){}|+?", c) >= 0:
			b.WriteString(`\` + string(c))
		case c == '^' && !extended && !wasStart:
			b.WriteString(`\^`)
		case c == '$' && !extended && i+1 < len(s) && !strings.HasPrefix(s[i+1:], `\)`) && !strings.HasPrefix(s[i+1:], `\|`):
			b.WriteString(`\$`)
		default:
			start = c == '^' || extended && (c == '(' || c == '|')
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

func translateEscape(c byte, extended bool) (string, error) {
	switch {
	case c >= '1' && c <= '9':
		return "", fmt.Errorf(`back-reference \%c is not simulated`, c)
	case !extended && strings.IndexByte("(){}|+?", c) >= 0:
		return string(c), nil
	case c == '<' || c == '>':
		return `\b`, nil
	case c == '`':
		return `\A`, nil
	case c == '\'':
		return `\z`, nil
	case c == '/' || c == '"' || c == '#' || c == '%' || c == ',' || c == '@' || c == ':' || c == '!' || c == '&' || c == '~' || c == '=' || c == ';' || c == ' ' || c == '\n' || c == '_':
		return regexp.QuoteMeta(string(c)), nil
	case strings.IndexByte("nrtfvwWsSbBdD", c) >= 0:
		return `\` + string(c), nil
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80:
		return string([]byte{c}), nil
	}
	return `\` + string(c), nil
}

// bracketEnd returns the index of the ] that ends a bracket expression.
func bracketEnd(s string) int {
	i := 1
	if i < len(s) && s[i] == '^' {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for ; i < len(s); i++ {
		if s[i] == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0 {
			if end := strings.Index(s[i+2:], string(s[i+1])+"]"); end >= 0 {
				i += 2 + end + 1
				continue
			}
		}
		if s[i] == ']' {
			return i
		}
	}
	return -1
}

// translateBracket translates the inside of a bracket expression.
func translateBracket(s string) string {
	var b strings.Builder
	b.WriteByte('[')
	if strings.HasPrefix(s, "^") {
		b.WriteByte('^')
		s = s[1:]
	}
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "[:"):
			if end := strings.Index(s[i:], ":]"); end > 0 {
				b.WriteString(s[i : i+end+2])
				i += end + 1
				continue
			}
			b.WriteString(`\[`)
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte("nrt", s[i+1]) >= 0:
			b.WriteString(s[i : i+2])
			i++
		case strings.IndexByte(`\[]&~`, s[i]) >= 0:
			b.WriteString(`\` + string(s[i]))
		default:
			b.WriteByte(s[i])
		}
	}
	b.WriteByte(']')
	return b.String()
}
