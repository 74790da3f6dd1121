package shell

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func echo(p *proc, args []string) int {
	args = args[1:]
	newline, escapes := true, false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		for _, c := range args[0][1:] {
			switch c {
			case 'n':
				newline = false
			case 'e':
				escapes = true
			case 'E':
				escapes = false
			}
		}
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if escapes {
		expanded, stop := expandEscapes(text)
		text = expanded
		newline = newline && !stop
	}
	if newline {
		text += "\n"
	}
	if _, err := io.WriteString(p.stdout(), text); err != nil {
		p.errorf("echo: write error: %s", errText(err))
		return 1
	}
	return 0
}

// expandEscapes expands backslashes as echo -e does.
func expandEscapes(s string) (text string, stop bool) {
	var b strings.Builder
	for len(s) > 0 {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i == len(s)-1 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		text, n, end := escape(s[i:], true)
		if end {
			return b.String(), true
		}
		b.WriteString(text)
		s = s[i+n:]
	}
	return b.String(), false
}

// maxWidth bounds the width and precision of printf.
const maxWidth = 4096

func printf(p *proc, args []string) int {
	if len(args) > 1 && args[1] == "--" {
		args = args[1:]
	}
	if len(args) < 2 {
		p.errorf("usage: printf FORMAT [ARG]...")
		return 2
	}
	f := formatter{p: p, args: args[2:]}
	for {
		before := len(f.args)
		stop := f.run(args[1])
		if stop || len(f.args) == 0 || len(f.args) == before {
			break
		}
		p.step(1)
	}
	f.flush()
	return f.status
}

// formatter is a run of printf.
type formatter struct {
	p      *proc
	args   []string
	out    []byte
	status int
}

func (f *formatter) write(s string) {
	f.out = append(f.out, s...)
	if len(f.out) > 4<<10 {
		f.flush()
	}
}

func (f *formatter) flush() {
	if len(f.out) == 0 {
		return
	}
	if _, err := f.p.stdout().Write(f.out); err != nil {
		f.p.errorf("printf: write error: %s", errText(err))
		f.status = 1
	}
	f.out = f.out[:0]
}

func (f *formatter) arg() string {
	if len(f.args) == 0 {
		return ""
	}
	arg := f.args[0]
	f.args = f.args[1:]
	return arg
}

func (f *formatter) run(format string) (stop bool) {
	for len(format) > 0 {
		f.p.step(1)
		i := strings.IndexAny(format, `\%`)
		if i < 0 || i == len(format)-1 {
			f.write(format)
			return false
		}
		f.write(format[:i])
		format = format[i:]
		if format[0] == '\\' {
			if format[1] == 'c' {
				return true
			}
			text, n, _ := escape(format, false)
			f.write(text)
			format = format[n:]
			continue
		}
		if format[1] == '%' {
			f.write("%")
			format = format[2:]
			continue
		}
		n, stop := f.directive(format)
		if stop {
			return true
		}
		format = format[n:]
	}
	return false
}

// directive formats one argument and returns the length of the directive.
func (f *formatter) directive(format string) (n int, stop bool) {
	i := 1
	for i < len(format) && strings.IndexByte("-+ #0", format[i]) >= 0 {
		i++
	}
	spec := "%" + format[1:i]
	number := func() (int, bool) {
		if i < len(format) && format[i] == '*' {
			i++
			w, _ := strconv.Atoi(f.arg())
			if w < 0 {
				spec += "-"
				w = -w
			}
			return min(w, maxWidth), true
		}
		from := i
		for i < len(format) && format[i] >= '0' && format[i] <= '9' {
			i++
		}
		w, err := strconv.Atoi(format[from:i])
		if i > from && err != nil {
			w = maxWidth
		}
		return min(w, maxWidth), i > from
	}
	if w, ok := number(); ok {
		spec += strconv.Itoa(w)
	}
	if i < len(format) && format[i] == '.' {
		i++
		w, _ := number()
		spec += "." + strconv.Itoa(w)
	}
	for i < len(format) && strings.IndexByte("lhjzt", format[i]) >= 0 {
		i++
	}
	if i == len(format) {
		f.p.errorf("printf: %s: invalid format", format)
		f.status = 1
		return 0, true
	}
	return i + 1, f.convert(spec, format[i])
}

func (f *formatter) convert(spec string, verb byte) (stop bool) {
	switch verb {
	case 's':
		f.write(fmt.Sprintf(spec+"s", f.arg()))
	case 'b':
		text, end := expandEscapes(f.arg())
		f.write(fmt.Sprintf(spec+"s", text))
		return end
	case 'q':
		f.write(quote(f.arg()))
	case 'c':
		arg := f.arg()
		f.write(fmt.Sprintf(spec+"s", arg[:min(1, len(arg))]))
	case 'd', 'i':
		f.write(fmt.Sprintf(spec+"d", f.integer()))
	case 'u':
		f.write(fmt.Sprintf(spec+"d", uint64(f.integer())))
	case 'o', 'x', 'X':
		f.write(fmt.Sprintf(spec+string(verb), uint64(f.integer())))
	case 'e', 'E', 'f', 'F', 'g', 'G':
		arg := f.arg()
		x, err := strconv.ParseFloat(arg, 64)
		if err != nil && arg != "" {
			f.bad(arg)
		}
		f.write(fmt.Sprintf(spec+string(verb), x))
	default:
		f.p.errorf("printf: %%%c: invalid format", verb)
		f.status = 1
		return true
	}
	return false
}

func (f *formatter) integer() int64 {
	arg := strings.TrimSpace(f.arg())
	if arg == "" {
		return 0
	}
	if arg[0] == '"' || arg[0] == '\'' {
		for _, r := range arg[1:] {
			return int64(r)
		}
		return 0
	}
	n, err := strconv.ParseInt(arg, 0, 64)
	if err != nil {
		if u, err := strconv.ParseUint(arg, 0, 64); err == nil {
			return int64(u)
		}
		f.bad(arg)
	}
	return n
}

func (f *formatter) bad(arg string) {
	f.p.errorf("printf: invalid number '%s'", arg)
	f.status = 1
}

func cat(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "nbuvetAsET", nil)
	if !ok {
		return 1
	}
	number := 0
	return p.eachInput(names, func(_ string, r io.Reader) error {
		if !f.has('n') && !f.has('b') {
			return p.copy(p.stdout(), r)
		}
		return p.lines(r, func(line []byte, _ bool) bool {
			if f.has('b') && len(line) == 0 {
				p.print("\n")
				return true
			}
			number++
			p.printf("%6d\t%s\n", number, line)
			return true
		})
	})
}

// counts understands -N, as head and tail do, in place of -n N.
func counts(args []string) []string {
	if len(args) > 1 && len(args[1]) > 1 && args[1][0] == '-' && args[1][1] >= '0' && args[1][1] <= '9' {
		return append([]string{args[0], "-n", args[1][1:]}, args[2:]...)
	}
	return args
}

// size parses a number with a suffix.
func size(s string) (int64, error) {
	if s == "" {
		return 0, syscall.EINVAL
	}
	multiplier := int64(1)
	number := strings.TrimSuffix(strings.TrimSuffix(s, "B"), "i")
	if i := strings.IndexByte("bkKmMgGT", number[max(0, len(number)-1)]); len(number) > 1 && i >= 0 {
		multiplier = []int64{512, 1 << 10, 1 << 10, 1 << 20, 1 << 20, 1 << 30, 1 << 30, 1 << 40}[i]
		number = number[:len(number)-1]
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > (1<<62)/multiplier {
		return 0, fmt.Errorf("invalid number '%s'", s)
	}
	return n * multiplier, nil
}

var countFlags = map[string]byte{"lines": 'n', "bytes": 'c', "quiet": 'q', "verbose": 'v', "follow": 'f'}

func head(p *proc, args []string) int {
	f, names, ok := p.parseFlags(counts(args), "n:c:qv", countFlags)
	if !ok {
		return 1
	}
	text, bytesOnly := f['n'], f.has('c')
	if bytesOnly {
		text = f['c']
	}
	n := int64(10)
	if text != "" {
		var err error
		if n, err = size(text); err != nil {
			return p.fail("%v", err)
		}
	}
	first := true
	return p.eachInput(names, func(name string, r io.Reader) error {
		if len(names) > 1 && !f.has('q') || f.has('v') {
			p.fileHeader(name, first)
		}
		first = false
		if n < 0 {
			return p.allButLast(r, -n)
		}
		if bytesOnly {
			return p.copy(p.stdout(), io.LimitReader(r, n))
		}
		if n == 0 {
			return nil
		}
		left := n
		return p.lines(r, func(line []byte, newline bool) bool {
			p.writeLine(line, newline)
			left--
			return left > 0
		})
	})
}

func (p *proc) fileHeader(name string, first bool) {
	if !first {
		p.print("\n")
	}
	if name == "-" {
		name = "standard input"
	}
	p.printf("==> %s <==\n", name)
}

func (p *proc) writeLine(line []byte, newline bool) {
	if newline {
		line = append(slices.Clip(line), '\n')
	}
	_, _ = p.stdout().Write(line)
}

// allButLast prints all lines but the last n.
func (p *proc) allButLast(r io.Reader, n int64) error {
	data, release, err := p.readAll(r)
	defer release()
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines) > 0 && len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	for _, line := range lines[:max(0, int64(len(lines))-min(n, int64(len(lines))))] {
		if _, err := p.stdout().Write(line); err != nil {
			return err
		}
	}
	return err
}

func tail(p *proc, args []string) int {
	f, names, ok := p.parseFlags(counts(args), "n:c:qvfFs:", countFlags)
	if !ok {
		return 1
	}
	text, bytesOnly := f['n'], f.has('c')
	if bytesOnly {
		text = f['c']
	}
	fromStart := strings.HasPrefix(text, "+")
	n := int64(10)
	if text != "" {
		var err error
		if n, err = size(strings.TrimLeft(text, "+-")); err != nil {
			return p.fail("%v", err)
		}
	}
	follow := f.has('f') || f.has('F')
	first := true
	var open []fileStream
	status := p.eachInput(names, func(name string, r io.Reader) error {
		if len(names) > 1 && !f.has('q') || f.has('v') {
			p.fileHeader(name, first)
		}
		first = false
		if fs, ok := r.(fileStream); ok && follow {
			open = append(open, fileStream{p, fs.o.dup()})
		}
		return p.tail(r, n, fromStart, bytesOnly)
	})
	if follow && (len(open) > 0 || f.has('F')) {
		p.follow(open, names, f.has('F'))
	}
	return status
}

// tail prints the end of a file.
func (p *proc) tail(r io.Reader, n int64, fromStart, bytesOnly bool) error {
	if fromStart {
		skip := max(0, n-1)
		if bytesOnly {
			if err := p.copy(io.Discard, io.LimitReader(r, skip)); err != nil {
				return err
			}
			return p.copy(p.stdout(), r)
		}
		return p.lines(r, func(line []byte, newline bool) bool {
			if skip > 0 {
				skip--
				return true
			}
			p.writeLine(line, newline)
			return true
		})
	}
	var kept []byte // the last lines; what is before them is dropped now and then
	held := 0
	defer func() { p.hold(-held) }()
	buf := make([]byte, 4<<10)
	for {
		m, err := r.Read(buf)
		p.hold(m)
		held += m
		kept = append(kept, buf[:m]...)
		if len(kept) > 64<<10 || err != nil {
			rest := lastPart(kept, n, bytesOnly)
			p.hold(len(rest) - len(kept))
			held += len(rest) - len(kept)
			kept = slices.Clone(rest)
		}
		if err != nil {
			if _, werr := p.stdout().Write(kept); werr != nil {
				return werr
			}
			if err == io.EOF {
				err = nil
			}
			return err
		}
	}
}

// lastPart returns the last n lines or bytes.
func lastPart(b []byte, n int64, bytesOnly bool) []byte {
	if bytesOnly {
		return b[int64(len(b))-min(n, int64(len(b))):]
	}
	at := len(b)
	if at > 0 && b[at-1] == '\n' {
		at--
	}
	for ; n > 0; n-- {
		i := bytes.LastIndexByte(b[:at], '\n')
		if i < 0 {
			return b
		}
		at = i
	}
	if at == len(b) {
		return nil
	}
	return b[at+1:]
}

// follow prints what is appended to files, until the process is killed.
func (p *proc) follow(open []fileStream, names []string, retry bool) {
	for {
		p.idle(func() { p.wait(time.Second) })
		for _, f := range open {
			_ = p.copy(p.stdout(), f)
		}
		if retry && len(open) < len(names) {
			open = open[:0]
			for _, name := range names {
				if o, err := p.open(name, syscall.O_RDONLY, 0); err == nil {
					open = append(open, fileStream{p, o})
				}
			}
		}
	}
}

// wait waits; it may be called in idle.
func (p *proc) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ctx.Done():
	}
}

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
	for flag, n := range map[byte]*int{'m': &g.most, 'A': &g.after, 'B': &g.before} {
		*n, _ = strconv.Atoi(cmp.Or(f[flag], f['C'], "0"))
		if flag == 'm' {
			*n, _ = strconv.Atoi(cmp.Or(f[flag], "0"))
		}
		*n = min(max(*n, 0), 10_000)
	}
	if f.has('r') || f.has('R') {
		names = p.filesBelow(names)
	}
	status := p.eachInput(names, g.file)
	switch {
	case g.found && (status == 0 || f.has('q')):
		return 0
	case status != 0:
		return 2
	}
	return 1
}

func grepArgs(p *proc, args []string) (f flags, patterns, names []string, ok bool) {
	// -e can be given several times.
	rest := []string{args[0]}
	for i := 1; i < len(args); i++ {
		switch {
		case args[i] == "-e" && i+1 < len(args):
			i++
			patterns = append(patterns, args[i])
		case strings.HasPrefix(args[i], "--regexp="):
			patterns = append(patterns, args[i][len("--regexp="):])
		default:
			rest = append(rest, args[i])
		}
	}
	f, names, ok = p.parseFlags(rest, "EFGPivcnqlLowxrRhHsae:f:m:A:B:C:", map[string]byte{
		"extended-regexp": 'E', "fixed-strings": 'F', "ignore-case": 'i', "invert-match": 'v', "count": 'c', "line-number": 'n', "quiet": 'q', "silent": 'q',
		"only-matching": 'o', "word-regexp": 'w', "line-regexp": 'x', "recursive": 'r', "no-filename": 'h', "files-with-matches": 'l', "max-count": 'm', "color": 'a', "line-buffered": 'a', "no-messages": 's',
	})
	if !ok {
		return nil, nil, nil, false
	}
	if f.has('e') {
		patterns = append(patterns, f['e'])
	}
	if name := f['f']; f.has('f') {
		text, err := p.readScript(name)
		if err != nil {
			p.errorf("grep: %s: %s", name, errText(err))
			return nil, nil, nil, false
		}
		patterns = append(patterns, strings.Split(strings.TrimSuffix(text, "\n"), "\n")...)
	} else if len(patterns) == 0 {
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
			s = quoteMeta(s)
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

// quoteMeta quotes all special characters of a regular expression.
func quoteMeta(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(`\.+*?()|[]{}^$`, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// grepRun is a run of grep.
type grepRun struct {
	p                         *proc
	f                         flags
	re                        *boundedRegexp
	invert, withName, found   bool
	most, after, before, rest int
}

func (g *grepRun) file(name string, r io.Reader) error {
	count, number := 0, 0
	var before []string
	g.rest = 0
	title := name
	if name == "-" {
		title = "(standard input)"
	}
	stopped := false
	err := g.p.lines(r, func(line []byte, _ bool) bool {
		number++
		text := string(line)
		if g.re.matches(g.p, text) == g.invert {
			if g.rest > 0 {
				g.rest--
				g.print(title, '-', number, text)
			} else if g.before > 0 {
				before = append(before, text)
				if len(before) > g.before {
					before = before[1:]
				}
			}
			return true
		}
		g.found = true
		count++
		switch {
		case g.f.has('q'):
			stopped = true
			return false
		case g.f.has('l') || g.f.has('L'):
			return false
		case g.f.has('c'):
		case g.f.has('o') && !g.invert:
			for _, m := range g.re.re.FindAllString(text, -1) {
				if m != "" {
					g.print(title, ':', number, m)
				}
			}
		default:
			for i, b := range before {
				g.print(title, '-', number-len(before)+i, b)
			}
			before = nil
			g.print(title, ':', number, text)
			g.rest = g.after
		}
		return g.most == 0 || count < g.most
	})
	switch {
	case stopped:
		return errStop
	case g.f.has('c'):
		if g.withName {
			g.p.print(title + ":")
		}
		g.p.printf("%d\n", count)
	case g.f.has('l') && count > 0, g.f.has('L') && count == 0:
		g.p.print(title + "\n")
	}
	return err
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

func wc(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "lwcmL", map[string]byte{"lines": 'l', "words": 'w', "bytes": 'c', "chars": 'm'})
	if !ok {
		return 1
	}
	type sums struct{ lines, words, bytes, chars int }
	var total sums
	if len(f) == 0 {
		f = flags{'l': "", 'w': "", 'c': ""}
	}
	show := func(s sums, name string) {
		var cols []string
		for _, c := range []struct {
			flag byte
			n    int
		}{{'l', s.lines}, {'w', s.words}, {'m', s.chars}, {'c', s.bytes}} {
			if f.has(c.flag) {
				cols = append(cols, strconv.Itoa(c.n))
			}
		}
		width := 0
		if len(cols) > 1 {
			width = 9
		}
		for i, col := range cols {
			if i == 0 && len(cols) > 1 {
				p.printf("%*s", width, col)
			} else if i > 0 {
				p.printf(" %*s", width, col)
			} else {
				p.print(col)
			}
		}
		if name != "" {
			name = " " + name
		}
		p.print(name + "\n")
	}
	status := p.eachInput(names, func(name string, r io.Reader) error {
		var s sums
		inWord := false
		buf := make([]byte, 4<<10)
		for {
			n, err := r.Read(buf)
			s.bytes += n
			for _, c := range buf[:n] {
				if c == '\n' {
					s.lines++
				}
				if c&0xc0 != 0x80 {
					s.chars++
				}
				space := c == ' ' || c >= '\t' && c <= '\r'
				if !space && !inWord {
					s.words++
				}
				inWord = !space
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
		}
		total.lines, total.words, total.bytes, total.chars = total.lines+s.lines, total.words+s.words, total.bytes+s.bytes, total.chars+s.chars
		if len(names) == 0 {
			name = ""
		}
		show(s, name)
		return nil
	})
	if len(names) > 1 {
		show(total, "total")
	}
	return status
}

// readLines reads all lines of files.
func (p *proc) readLines(names []string) (lines []string, release func(), status int) {
	held := 0
	status = p.eachInput(names, func(_ string, r io.Reader) error {
		return p.lines(r, func(line []byte, _ bool) bool {
			p.hold(len(line) + 16)
			held += len(line) + 16
			lines = append(lines, string(line))
			return true
		})
	})
	return lines, func() { p.hold(-held) }, status
}

func sortLines(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "nrufbdgVhsk:t:o:cz", map[string]byte{"numeric-sort": 'n', "reverse": 'r', "unique": 'u', "key": 'k', "field-separator": 't', "output": 'o', "ignore-case": 'f', "human-numeric-sort": 'h', "version-sort": 'V', "stable": 's'})
	if !ok {
		return 2
	}
	lines, release, status := p.readLines(names)
	defer release()
	k, err := newSortKey(f)
	if err != nil {
		return p.fail("%v", err) + 1
	}
	compare := func(a, b string) int {
		p.step(1 + (len(a)+len(b))/128)
		n := k.compare(a, b)
		if n == 0 && !f.has('s') && !f.has('u') {
			n = strings.Compare(a, b)
		}
		if f.has('r') {
			n = -n
		}
		return n
	}
	slices.SortStableFunc(lines, compare)
	if f.has('u') {
		lines = slices.CompactFunc(lines, func(a, b string) bool { return k.compare(a, b) == 0 })
	}
	out := p.stdout()
	if name := f['o']; name != "" {
		file, err := p.create(name, syscall.O_TRUNC)
		if err != nil {
			return p.fail("%s: %s", name, errText(err)) + 1
		}
		defer file.close()
		out = file
	}
	for _, line := range lines {
		if _, err := io.WriteString(out, line+"\n"); err != nil {
			return p.fail("write error: %s", errText(err)) + 1
		}
	}
	return status
}

// sortKey is what lines are sorted by.
type sortKey struct {
	from, to       int // fields, from 1; 0 = the whole line
	sep            string
	numeric, fold  bool
	human, version bool
	reversed       bool
}

func newSortKey(f flags) (sortKey, error) {
	k := sortKey{numeric: f.has('n') || f.has('g'), fold: f.has('f'), human: f.has('h'), version: f.has('V'), sep: f['t']}
	if !f.has('k') {
		return k, nil
	}
	from, to, _ := strings.Cut(f['k'], ",")
	parse := func(s string) (int, error) {
		number := strings.TrimRight(s, "nrfbhgVd")
		for _, c := range s[len(number):] {
			switch c {
			case 'n', 'g':
				k.numeric = true
			case 'r':
				k.reversed = true
			case 'f':
				k.fold = true
			case 'h':
				k.human = true
			case 'V':
				k.version = true
			}
		}
		number, _, _ = strings.Cut(number, ".")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("bad field specification '%s'", f['k'])
		}
		return n, nil
	}
	var err error
	if k.from, err = parse(from); err == nil && to != "" {
		k.to, err = parse(to)
	}
	return k, err
}

func (k sortKey) of(line string) string {
	if k.from == 0 {
		return line
	}
	var fields []string
	if k.sep != "" {
		fields = strings.Split(line, k.sep)
	} else {
		fields = strings.Fields(line)
	}
	if k.from > len(fields) {
		return ""
	}
	to := len(fields)
	if k.to > 0 {
		to = min(to, k.to)
	}
	if to < k.from {
		return ""
	}
	return strings.Join(fields[k.from-1:to], cmp.Or(k.sep, " "))
}

func (k sortKey) compare(a, b string) int {
	a, b = k.of(a), k.of(b)
	n := 0
	switch {
	case k.human:
		n = cmp.Compare(leadingNumber(a, true), leadingNumber(b, true))
	case k.numeric:
		n = cmp.Compare(leadingNumber(a, false), leadingNumber(b, false))
	case k.version:
		n = compareVersions(a, b)
	case k.fold:
		n = strings.Compare(strings.ToUpper(a), strings.ToUpper(b))
	default:
		n = strings.Compare(a, b)
	}
	if k.reversed {
		n = -n
	}
	return n
}

// leadingNumber returns the number that a string begins with.
func leadingNumber(s string, human bool) float64 {
	s = strings.TrimLeft(s, " \t")
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.' || s[end] == '-' && end == 0) {
		end++
	}
	x, _ := strconv.ParseFloat(s[:end], 64)
	if human && end < len(s) {
		if i := strings.IndexByte("KMGTPE", s[end]&^0x20); i >= 0 {
			for range i + 1 {
				x *= 1024
			}
		}
	}
	return x
}

func compareVersions(a, b string) int {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	for a != "" && b != "" {
		if digit(a[0]) && digit(b[0]) {
			i, j := 0, 0
			for i < len(a) && digit(a[i]) {
				i++
			}
			for j < len(b) && digit(b[j]) {
				j++
			}
			x, y := strings.TrimLeft(a[:i], "0"), strings.TrimLeft(b[:j], "0")
			if n := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); n != 0 {
				return n
			}
			a, b = a[i:], b[j:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func uniq(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "cdui", map[string]byte{"count": 'c', "repeated": 'd', "unique": 'u', "ignore-case": 'i'})
	if !ok {
		return 1
	}
	last, n := "", 0
	flush := func() {
		if n == 0 || f.has('d') && n < 2 || f.has('u') && n > 1 {
			return
		}
		if f.has('c') {
			p.printf("%7d ", n)
		}
		p.print(last + "\n")
	}
	status := p.eachInput(names[:min(1, len(names))], func(_ string, r io.Reader) error {
		return p.lines(r, func(line []byte, _ bool) bool {
			text := string(line)
			if n > 0 && (text == last || f.has('i') && strings.EqualFold(text, last)) {
				n++
				return true
			}
			flush()
			last, n = text, 1
			return true
		})
	})
	flush()
	return status
}

// ranges is a list such as 1,3-5,7-.
type ranges [][2]int

func parseRanges(s string) (list ranges, err error) {
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(part, "-")
		r := [2]int{1, 1 << 30}
		if from != "" {
			if r[0], err = strconv.Atoi(from); err != nil {
				return nil, err
			}
			if !isRange {
				r[1] = r[0]
			}
		}
		if to != "" {
			if r[1], err = strconv.Atoi(to); err != nil {
				return nil, err
			}
		}
		if part == "" || part == "-" || r[0] < 1 {
			return nil, fmt.Errorf("invalid range")
		}
		list = append(list, r)
	}
	return list, nil
}

func (list ranges) has(n int) bool {
	for _, r := range list {
		if n >= r[0] && n <= r[1] {
			return true
		}
	}
	return false
}

func cut(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "d:f:c:b:sO:n", map[string]byte{"delimiter": 'd', "fields": 'f', "characters": 'c', "bytes": 'b', "only-delimited": 's', "output-delimiter": 'O'})
	if !ok {
		return 1
	}
	spec := cmp.Or(f['f'], f['c'], f['b'])
	list, err := parseRanges(spec)
	if err != nil || spec == "" {
		return p.fail("expected a list of bytes, characters, or fields")
	}
	sep := "\t"
	if f.has('d') {
		sep = f['d']
	}
	join := sep
	if f.has('O') {
		join = f['O']
	}
	return p.eachInput(names, func(_ string, r io.Reader) error {
		return p.lines(r, func(line []byte, _ bool) bool {
			text := string(line)
			var kept []string
			switch {
			case f.has('f') && (sep == "" || !strings.Contains(text, sep)):
				if f.has('s') {
					return true
				}
				kept = []string{text}
			case f.has('f'):
				for i, field := range strings.Split(text, sep) {
					if list.has(i + 1) {
						kept = append(kept, field)
					}
				}
			default:
				var b strings.Builder
				for i, c := range []rune(text) {
					if list.has(i + 1) {
						b.WriteRune(c)
					}
				}
				kept = []string{b.String()}
			}
			p.print(strings.Join(kept, join) + "\n")
			return true
		})
	})
}

// trSet expands a set of tr.
func trSet(s string) []byte {
	var set []byte
	one := func() byte {
		if s[0] == '\\' && len(s) > 1 {
			text, n, _ := escape(s, false)
			s = s[n:]
			if len(text) == 2 && text[0] == '\\' {
				return text[1]
			}
			if text == "" {
				return 0
			}
			return text[0]
		}
		c := s[0]
		s = s[1:]
		return c
	}
	for len(s) > 0 {
		if strings.HasPrefix(s, "[:") {
			if name, rest, ok := strings.Cut(s[2:], ":]"); ok && classes[name] != nil {
				for c := range 128 {
					if classes[name](rune(c)) {
						set = append(set, byte(c))
					}
				}
				s = rest
				continue
			}
		}
		c := one()
		if len(s) > 1 && s[0] == '-' {
			s = s[1:]
			to := one()
			for i := int(c); i <= int(to); i++ {
				set = append(set, byte(i))
			}
			continue
		}
		set = append(set, c)
	}
	return set
}

func tr(p *proc, args []string) int {
	f, sets, ok := p.parseFlags(args, "cCdst", nil)
	if !ok {
		return 1
	}
	if len(sets) == 0 || len(sets) == 1 && !f.has('d') && !f.has('s') {
		return p.fail("missing operand")
	}
	from := trSet(sets[0])
	if f.has('c') || f.has('C') {
		var rest []byte
		for c := range 256 {
			if bytes.IndexByte(from, byte(c)) < 0 {
				rest = append(rest, byte(c))
			}
		}
		from = rest
	}
	var table [256]byte
	for i := range table {
		table[i] = byte(i)
	}
	var in, squeeze [256]bool
	last := from
	if len(sets) > 1 {
		last = trSet(sets[1])
	}
	for i, c := range from {
		in[c] = true
		if len(sets) > 1 && len(last) > 0 && !f.has('d') {
			table[c] = last[min(i, len(last)-1)]
		}
	}
	for _, c := range last {
		squeeze[c] = f.has('s')
	}
	buf, before := make([]byte, 4<<10), -1
	for {
		n, err := p.stdin().Read(buf)
		out := make([]byte, 0, n)
		for _, c := range buf[:n] {
			if f.has('d') && in[c] {
				continue
			}
			c = table[c]
			if squeeze[c] && int(c) == before {
				continue
			}
			before = int(c)
			out = append(out, c)
		}
		if len(out) > 0 {
			if _, err := p.stdout().Write(out); err != nil {
				return p.fail("write error: %s", errText(err))
			}
		}
		if err != nil {
			return 0
		}
	}
}

func seq(p *proc, args []string) int {
	sep, width, rest := "\n", false, args[1:]
	for len(rest) > 0 && len(rest[0]) > 1 && rest[0][0] == '-' && !(rest[0][1] >= '0' && rest[0][1] <= '9' || rest[0][1] == '.') {
		switch {
		case rest[0] == "-w":
			width = true
		case rest[0] == "-s" && len(rest) > 1:
			sep, rest = rest[1], rest[1:]
		case strings.HasPrefix(rest[0], "-s"):
			sep = rest[0][2:]
		default:
			return p.fail("unrecognized option: %s", rest[0])
		}
		rest = rest[1:]
	}
	if len(rest) == 0 || len(rest) > 3 {
		return p.fail("missing operand")
	}
	values, decimals := []float64{1, 1, 1}, 0
	for i, s := range rest {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return p.fail("invalid number '%s'", s)
		}
		if dot := strings.IndexByte(s, '.'); dot >= 0 {
			decimals = min(20, max(decimals, len(s)-dot-1))
		}
		values[map[int][]int{1: {2}, 2: {0, 2}, 3: {0, 1, 2}}[len(rest)][i]] = x
	}
	first, step, last := values[0], values[1], values[2]
	if step == 0 {
		return p.fail("invalid increment '0'")
	}
	pad := 0
	if width {
		pad = max(len(strconv.FormatFloat(first, 'f', decimals, 64)), len(strconv.FormatFloat(last, 'f', decimals, 64)))
	}
	out := p.output()
	for i := 0; ; i++ {
		x := first + float64(i)*step
		if step > 0 && x > last || step < 0 && x < last {
			if i > 0 {
				_, _ = out.WriteString("\n")
			}
			break
		}
		p.step(1)
		if i > 0 {
			_, _ = out.WriteString(sep)
		}
		fmt.Fprintf(out, "%0*.*f", pad, decimals, x)
	}
	if err := out.Flush(); err != nil {
		return p.fail("write error: %s", errText(err))
	}
	return 0
}

func tee(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "ai", map[string]byte{"append": 'a'})
	if !ok {
		return 1
	}
	status, mode := 0, syscall.O_TRUNC
	if f.has('a') {
		mode = syscall.O_APPEND
	}
	outs := []io.Writer{p.stdout()}
	for _, name := range names {
		file, err := p.create(name, mode)
		if err != nil {
			status = p.fail("%s: %s", name, errText(err))
			continue
		}
		defer file.close()
		outs = append(outs, file)
	}
	if err := p.copy(io.MultiWriter(outs...), p.stdin()); err != nil {
		return p.fail("%v", err)
	}
	return status
}

func tac(p *proc, args []string) int {
	lines, release, status := p.readLines(args[1:])
	defer release()
	for _, line := range slices.Backward(lines) {
		p.print(line + "\n")
	}
	return status
}

func rev(p *proc, args []string) int {
	return p.eachInput(args[1:], func(_ string, r io.Reader) error {
		return p.lines(r, func(line []byte, _ bool) bool {
			runes := []rune(string(line))
			slices.Reverse(runes)
			p.print(string(runes) + "\n")
			return true
		})
	})
}

func nl(p *proc, args []string) int {
	_, names, ok := p.parseFlags(args, "b:w:s:", nil)
	if !ok {
		return 1
	}
	n := 0
	return p.eachInput(names, func(_ string, r io.Reader) error {
		return p.lines(r, func(line []byte, _ bool) bool {
			if len(line) == 0 {
				p.print("       \n")
				return true
			}
			n++
			p.printf("%6d\t%s\n", n, line)
			return true
		})
	})
}

func yes(p *proc, args []string) int {
	text := "y\n"
	if len(args) > 1 {
		text = strings.Join(args[1:], " ") + "\n"
	}
	text = strings.Repeat(text, 1+1024/len(text))
	for {
		if _, err := io.WriteString(p.stdout(), text); err != nil {
			return p.fail("write error: %s", errText(err))
		}
	}
}
