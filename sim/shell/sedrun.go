package shell

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
)

// sedRun is a run of sed over some input.
type sedRun struct {
	p        *proc
	commands []sedCommand
	quiet    bool
	out      io.Writer
	input    func() (line string, ok bool) // the next line
	ended    func() bool                   // there is none

	line      int
	pattern   string
	hold      string
	after     []string
	replaced  bool
	quit      bool
	status    int
	held      int
	suppress  bool
	lastError error
}

func sed(p *proc, args []string) int {
	var scripts []string
	rest := []string{args[0]}
	for i := 1; i < len(args); i++ {
		if (args[i] == "-e" || args[i] == "--expression") && i+1 < len(args) {
			i++
			scripts = append(scripts, args[i])
			continue
		}
		rest = append(rest, args[i])
	}
	inPlace := false
	for i, arg := range rest {
		if i > 0 && strings.HasPrefix(arg, "-i") && arg != "-in" && arg != "-ni" && !strings.HasPrefix(arg, "-ie") && !strings.HasPrefix(arg, "-iE") && !strings.HasPrefix(arg, "-ir") && !strings.HasPrefix(arg, "-in") || arg == "--in-place" {
			rest[i], inPlace = "-i", true
		}
	}
	f, names, ok := p.parseFlags(rest, "nErise:f:u", map[string]byte{"quiet": 'n', "silent": 'n', "regexp-extended": 'E', "expression": 'e', "file": 'f'})
	if !ok {
		return 1
	}
	inPlace = inPlace || f.has('i')
	if f.has('e') {
		scripts = append(scripts, f['e'])
	}
	if f.has('f') {
		text, err := p.readScript(f['f'])
		if err != nil {
			return p.fail("can't open '%s': %s", f['f'], errText(err))
		}
		scripts = append(scripts, text)
	}
	if len(scripts) == 0 {
		if len(names) == 0 {
			p.errorf("usage: sed [-i] [-n] [-E] [-e CMD]... [FILE]...")
			return 1
		}
		scripts, names = names[:1], names[1:]
	}
	parser := sedParser{p: p, src: strings.Join(scripts, "\n"), extended: f.has('E') || f.has('r')}
	if err := parser.parse(); err != nil {
		return p.fail("%v", err)
	}
	if !inPlace {
		r := &sedRun{p: p, commands: parser.commands, quiet: f.has('n'), out: p.stdout()}
		return r.stream(names)
	}
	status := 0
	for _, name := range names {
		if n := sedInPlace(p, parser.commands, f.has('n'), name); n != 0 {
			status = n
		}
	}
	return status
}

func sedInPlace(p *proc, commands []sedCommand, quiet bool, name string) int {
	var out capture
	file := p.m.newFile(&out)
	defer file.release(p.m)
	r := &sedRun{p: p, commands: append([]sedCommand(nil), commands...), quiet: quiet, out: fileStream{p, file}}
	status := r.stream([]string{name})
	data := out.take()
	defer p.hold(-len(data))
	if status != 0 {
		return status
	}
	info, err := p.m.fs.stat(p.cred, p.abs(name), true)
	if err == nil {
		// sed replaces the file, so a mounted one is busy.
		err = p.replaceFile(name, data, info)
	}
	if err != nil {
		return p.fail("%s: %s", name, errText(err))
	}
	return 0
}

// replaceFile replaces a file by another one with the same mode.
func (p *proc) replaceFile(name string, data []byte, info fileInfo) error {
	temp := name + ".tmp~"
	file, err := p.create(temp, syscall.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	file.close()
	if err == nil {
		err = p.m.fs.chmod(p.cred, p.abs(temp), info.mode)
	}
	if err == nil {
		err = p.m.fs.rename(p.cred, p.abs(temp), p.abs(name))
	}
	if err != nil {
		_ = p.m.fs.remove(p.cred, p.abs(temp))
	}
	return err
}

// stream edits files as one stream.
func (r *sedRun) stream(names []string) int {
	status := 0
	var all []string
	pos := 0
	follow := len(names) == 0 // the standard input is edited line by line
	if !follow {
		lines, release, n := r.p.readLines(names)
		defer release()
		all, status = lines, n
		r.input = func() (string, bool) {
			if pos == len(all) {
				return "", false
			}
			pos++
			return all[pos-1], true
		}
		r.ended = func() bool { return pos == len(all) }
	} else {
		src := newLineSource(r.p, r.p.stdin())
		defer src.close()
		r.input, r.ended = src.next, src.ended
	}
	for !r.quit {
		line, ok := r.input()
		if !ok {
			break
		}
		r.line++
		r.set(line)
		r.cycle()
	}
	r.p.hold(-r.held)
	if r.lastError != nil {
		return r.p.fail("%v", r.lastError)
	}
	if r.status != 0 {
		return r.status
	}
	return status
}

// set replaces the pattern space.
func (r *sedRun) set(s string) {
	r.p.hold(len(s) - len(r.pattern))
	r.held += len(s) - len(r.pattern)
	r.pattern = s
}

func (r *sedRun) setHold(s string) {
	r.p.hold(len(s) - len(r.hold))
	r.held += len(s) - len(r.hold)
	r.hold = s
}

func (r *sedRun) print(s string) {
	if _, err := io.WriteString(r.out, s+"\n"); err != nil {
		r.lastError, r.quit = fmt.Errorf("write error: %s", errText(err)), true
	}
}

func (r *sedRun) flushAfter() {
	for _, s := range r.after {
		r.print(s)
	}
	r.after = nil
}

// cycle runs the script for one line.
func (r *sedRun) cycle() {
	r.replaced, r.suppress = false, false
	for i := 0; i < len(r.commands); {
		r.p.step(1)
		c := &r.commands[i]
		if r.selects(c) == c.negated {
			if c.verb == '{' {
				i = c.target
			}
			i++
			continue
		}
		next, end := r.command(c, i)
		if end {
			break
		}
		i = next
	}
	if !r.quiet && !r.suppress {
		r.print(r.pattern)
	}
	r.flushAfter()
}

// selects reports whether the addresses of a command select the line.
func (r *sedRun) selects(c *sedCommand) bool {
	if c.from == nil {
		return true
	}
	if c.to == nil {
		return r.at(c.from)
	}
	if !c.active {
		if !r.at(c.from) {
			return false
		}
		switch {
		case c.to.plus:
			c.until = r.line + c.to.line
		case c.to.line > 0:
			c.until = c.to.line
		default:
			c.active = true
			return true
		}
		c.active = c.until > r.line
		return true
	}
	if c.to.plus || c.to.line > 0 {
		c.active = r.line < c.until
	} else {
		c.active = !r.at(c.to)
	}
	return true
}

func (r *sedRun) at(a *sedAddress) bool {
	switch {
	case a.re != nil:
		return a.re.matches(r.p, r.pattern)
	case a.last:
		return r.ended()
	case a.step > 0:
		return r.line >= a.line && (r.line-a.line)%a.step == 0
	}
	return r.line == a.line
}

// command runs a command and returns the index of the next one, or that the
// cycle ends.
func (r *sedRun) command(c *sedCommand, i int) (next int, end bool) {
	switch c.verb {
	case 's':
		r.substitute(c)
	case 'y':
		r.set(strings.Map(func(x rune) rune {
			if y, ok := c.set[x]; ok {
				return y
			}
			return x
		}, r.pattern))
	case 'd':
		r.suppress = true
		return 0, true
	case 'D':
		if _, rest, ok := strings.Cut(r.pattern, "\n"); ok {
			r.set(rest)
			r.flushAfter()
			r.p.step(1)
			return 0, false
		}
		r.suppress = true
		return 0, true
	case 'p':
		r.print(r.pattern)
	case 'P':
		first, _, _ := strings.Cut(r.pattern, "\n")
		r.print(first)
	case 'l':
		r.print(strings.ReplaceAll(r.pattern, "\n", `\n`) + "$")
	case '=':
		r.print(strconv.Itoa(r.line))
	case 'a':
		if len(r.after) < 1000 {
			r.after = append(r.after, c.text)
		}
	case 'i':
		r.print(c.text)
	case 'c':
		if !c.active {
			r.print(c.text)
		}
		r.suppress = true
		return 0, true
	case 'r':
		if text, err := r.p.readScript(c.text); err == nil && len(r.after) < 1000 {
			r.after = append(r.after, strings.TrimSuffix(text, "\n"))
		}
	case 'w':
		r.writeFile(c.text)
	case 'g':
		r.set(r.hold)
	case 'G':
		r.set(r.pattern + "\n" + r.hold)
	case 'h':
		r.setHold(r.pattern)
	case 'H':
		r.setHold(r.hold + "\n" + r.pattern)
	case 'x':
		pattern := r.pattern
		r.pattern, r.hold = r.hold, pattern
	case 'n', 'N':
		return r.nextLine(c, i)
	case 'b':
		return c.target, false
	case 't', 'T':
		jump := r.replaced == (c.verb == 't')
		r.replaced = false
		if jump {
			return c.target, false
		}
	case 'q', 'Q':
		r.quit, r.status = true, c.nth
		r.suppress = r.suppress || c.verb == 'Q'
		return 0, true
	}
	return i + 1, r.quit
}

func (r *sedRun) writeFile(name string) {
	file, err := r.p.create(name, syscall.O_APPEND)
	if err != nil {
		r.lastError, r.quit = fmt.Errorf("%s: %s", name, errText(err)), true
		return
	}
	defer file.close()
	if _, err := io.WriteString(file, r.pattern+"\n"); err != nil {
		r.lastError, r.quit = fmt.Errorf("%s: %s", name, errText(err)), true
	}
}

// nextLine runs n and N.
func (r *sedRun) nextLine(c *sedCommand, i int) (next int, end bool) {
	line, ok := r.input()
	if !ok {
		r.quit = true
		return 0, true
	}
	if c.verb == 'n' {
		if !r.quiet {
			r.print(r.pattern)
		}
		r.flushAfter()
		r.set(line)
	} else {
		r.set(r.pattern + "\n" + line)
	}
	r.line++
	return i + 1, false
}

func (r *sedRun) substitute(c *sedCommand) {
	var b strings.Builder
	held, pos, count, done := 0, 0, 0, false
	add := func(s string) {
		r.p.hold(len(s))
		held += len(s)
		b.WriteString(s)
	}
	defer func() { r.p.hold(-held) }()
	s := r.pattern
	if !c.re.charge(r.p, len(s)) {
		r.lastError, r.quit = fmt.Errorf("line too long for this regular expression in the simulation"), true
		return
	}
	for _, m := range c.re.re.FindAllStringSubmatchIndex(s, -1) {
		r.p.step(1)
		count++
		if count < c.nth {
			continue
		}
		add(s[pos:m[0]])
		sedReplacement(c.with, s, m, add)
		pos, done = m[1], true
		if !c.global {
			break
		}
	}
	if !done {
		return
	}
	add(s[pos:])
	r.set(b.String())
	r.replaced = true
	if c.print {
		r.print(r.pattern)
	}
}

// sedReplacement expands & and \1 in the replacement of s.
func sedReplacement(with, s string, m []int, add func(string)) {
	for i := 0; i < len(with); i++ {
		c := with[i]
		if c == '&' {
			add(group(s, m, 0))
			continue
		}
		if c != '\\' || i+1 == len(with) {
			from := i
			for i+1 < len(with) && with[i+1] != '&' && with[i+1] != '\\' {
				i++
			}
			add(with[from : i+1])
			continue
		}
		i++
		switch c := with[i]; {
		case c >= '0' && c <= '9':
			add(group(s, m, int(c-'0')))
		case c == 'n':
			add("\n")
		case c == 't':
			add("\t")
		default:
			add(string([]byte{c}))
		}
	}
}

// lineSource reads lines and knows whether there is another one.
type lineSource struct {
	p    *proc
	r    io.Reader
	data []byte
	err  error
}

func newLineSource(p *proc, r io.Reader) *lineSource { return &lineSource{p: p, r: r} }

// fill reads until a line is there.
func (l *lineSource) fill() {
	if l.err != nil || bytes.IndexByte(l.data, '\n') >= 0 {
		return
	}
	buf := make([]byte, 4<<10)
	for found := false; l.err == nil && !found; {
		n, err := l.r.Read(buf)
		l.p.hold(n)
		l.data = append(l.data, buf[:n]...)
		l.err = err
		found = bytes.IndexByte(buf[:n], '\n') >= 0
	}
}

func (l *lineSource) next() (string, bool) {
	l.fill()
	if len(l.data) == 0 {
		return "", false
	}
	line, rest, _ := bytes.Cut(l.data, []byte("\n"))
	l.p.hold(len(rest) - len(l.data))
	text := string(line)
	if l.data = rest; len(rest) == 0 {
		l.data = nil
	}
	return text, true
}

func (l *lineSource) ended() bool {
	l.fill()
	return len(l.data) == 0
}

func (l *lineSource) close() { l.p.hold(-len(l.data)) }
