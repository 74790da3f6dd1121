package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
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

// textArgument is the text of a, i and c.
func (s *sedParser) textArgument() string {
	s.src = strings.TrimLeft(s.src, " \t")
	if strings.HasPrefix(s.src, "\\") {
		s.src = strings.TrimPrefix(strings.TrimLeft(s.src[1:], " \t"), "\n")
	}
	var b strings.Builder
	for i := 0; i < len(s.src); i++ {
		if s.src[i] == '\\' && i+1 < len(s.src) {
			i++
			b.WriteByte(s.src[i])
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
