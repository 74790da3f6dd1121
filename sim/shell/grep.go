package shell

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

func grep(p *proc, args []string) int {
	f, patterns, names, ok := grepArgs(p, args)
	if !ok {
		return 2
	}
	re, err := grepPattern(p, args[0], patterns, f)
	if err != nil {
		p.errorf("grep: %v", err)
		return 2
	}
	g := grepRun{p: p, f: f, re: re, invert: f.has('v'), withName: (len(names) > 1 || f.has('r') || f.has('R') || f.has('H')) && !f.has('h')}
	for n, text := range map[*int]string{&g.most: f['m'], &g.after: cmp.Or(f['A'], f['C']), &g.before: cmp.Or(f['B'], f['C'])} {
		if *n, err = strconv.Atoi(cmp.Or(text, "0")); err != nil {
			p.errorf("grep: invalid number '%s'", text)
			return 2
		}
		*n = min(max(*n, 0), 10_000)
	}
	if f.has('r') || f.has('R') {
		if names = p.filesBelow(names); len(names) == 0 {
			return 1
		}
	}
	status := 0
	if f.has('s') && len(names) > 0 {
		readable := p.readable(names)
		if len(readable) < len(names) {
			status = 2
		}
		if names = readable; len(names) == 0 {
			return status
		}
	}
	status = max(status, p.eachInput(names, g.file))
	switch {
	case g.found && (status == 0 || f.has('q')):
		return 0
	case status != 0:
		return 2
	}
	return 1
}

// readable returns the names of files that can be read.
func (p *proc) readable(names []string) (list []string) {
	for _, name := range names {
		if p.withInput(name, func(io.Reader) error { return nil }) == nil {
			list = append(list, name)
		}
	}
	return list
}

func grepArgs(p *proc, args []string) (f flags, patterns, names []string, ok bool) {
	f, names = p.parseFlags(args, "EFGPivcnqlLowxrRhHsae:*f:*m:A:B:C:", map[string]byte{
		"extended-regexp": 'E', "fixed-strings": 'F', "ignore-case": 'i', "invert-match": 'v', "count": 'c', "line-number": 'n', "quiet": 'q', "silent": 'q',
		"only-matching": 'o', "word-regexp": 'w', "line-regexp": 'x', "recursive": 'r', "no-filename": 'h', "files-with-matches": 'l', "max-count": 'm', "color": 'a', "line-buffered": 'a', "no-messages": 's', "regexp": 'e', "file": 'f',
	})
	patterns = f.lines('e')
	for _, name := range f.lines('f') {
		text, err := p.readScript(name)
		if err != nil {
			p.errorf("grep: %s: %s", name, errText(err))
			return nil, nil, nil, false
		}
		patterns = append(patterns, strings.Split(strings.TrimSuffix(text, "\n"), "\n")...)
	}
	if !f.has('e') && !f.has('f') {
		if len(names) == 0 {
			p.errorf("usage: grep [-EFivcnqlowxrhHs] [-m N] [-A|B|C N] PATTERN [FILE]...")
			return nil, nil, nil, false
		}
		patterns, names = strings.Split(names[0], "\n"), names[1:]
	}
	return f, patterns, names, true
}

func grepPattern(p *proc, name string, patterns []string, f flags) (*boundedRegexp, error) {
	extended := f.has('E') || f.has('P') || name == "egrep"
	var all []string
	for _, s := range patterns {
		if f.has('F') || name == "fgrep" {
			s = regexp.QuoteMeta(s)
		} else if !f.has('P') {
			var err error
			if s, err = translateRegexp(s, extended); err != nil {
				return nil, fmt.Errorf("bad regular expression: %w", err)
			}
		}
		switch {
		case f.has('x'):
			s = "^(?:" + s + ")$"
		case f.has('w'):
			s = `\b(?:` + s + `)\b`
		default:
			s = "(?:" + s + ")"
		}
		all = append(all, s)
	}
	pattern := strings.Join(all, "|")
	if f.has('i') {
		pattern = "(?i)" + pattern
	}
	return compileRegexp(p, pattern)
}

// grepRun is a run of grep.
type grepRun struct {
	p                       *proc
	f                       flags
	re                      *boundedRegexp
	invert, withName, found bool
	most                    int // lines to select in each file; 0 = all
	after, before           int // lines of context
}

// file searches a file.
func (g *grepRun) file(name string, r io.Reader) error {
	in := grepFile{grepRun: g, title: name}
	if name == "-" {
		in.title = "(standard input)"
	}
	err := g.p.lines(r, func(line []byte, _ bool) bool {
		in.number++
		text := string(line)
		if g.re.matches(g.p, text) == g.invert {
			in.passOver(text)
			return true
		}
		g.found = true
		in.count++
		return in.selectLine(text)
	})
	switch {
	case in.count > 0 && g.f.has('q'):
		return errStop
	case g.f.has('c'):
		if g.withName {
			g.p.print(in.title + ":")
		}
		g.p.printf("%d\n", in.count)
	case g.f.has('l') && in.count > 0, g.f.has('L') && in.count == 0:
		g.p.print(in.title + "\n")
	}
	return err
}

// grepFile is the search of one file.
type grepFile struct {
	*grepRun
	title  string
	number int      // of the line
	count  int      // of the lines that are selected
	before []string // lines for the context of the next one
	rest   int      // how many lines of context still follow
}

// passOver prints or keeps a line that is not selected, if it may be context.
func (in *grepFile) passOver(text string) {
	switch {
	case in.rest > 0:
		in.rest--
		in.print(in.title, '-', in.number, text)
	case in.grepRun.before > 0:
		in.before = append(in.before, text)
		if len(in.before) > in.grepRun.before {
			in.before = in.before[1:]
		}
	}
}

// selectLine prints a line that is selected, and reports whether the search goes on.
func (in *grepFile) selectLine(text string) bool {
	switch {
	case in.f.has('q') || in.f.has('l') || in.f.has('L'):
		return false
	case in.f.has('c'):
	case in.f.has('o') && !in.invert:
		for _, m := range in.re.re.FindAllString(text, -1) {
			if m != "" {
				in.print(in.title, ':', in.number, m)
			}
		}
	default:
		for i, b := range in.before {
			in.print(in.title, '-', in.number-len(in.before)+i, b)
		}
		in.before = nil
		in.print(in.title, ':', in.number, text)
		in.rest = in.after
	}
	return in.most == 0 || in.count < in.most
}

func (g *grepRun) print(name string, sep byte, number int, text string) {
	var b strings.Builder
	if g.withName {
		fmt.Fprintf(&b, "%s%c", name, sep)
	}
	if g.f.has('n') {
		fmt.Fprintf(&b, "%d%c", number, sep)
	}
	b.WriteString(text)
	b.WriteByte('\n')
	g.p.print(b.String())
}
