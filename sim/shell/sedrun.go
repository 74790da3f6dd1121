package shell

import (
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
	input    func() (line inputLine, ok bool) // the next line
	ended    func() bool                      // there is none

	line      int
	pattern   string
	newline   bool // the line that was read last has one
	missing   bool // what was printed last has none
	hold      string
	after     []string
	replaced  bool
	quit      bool
	status    int
	held      int
	suppress  bool
	lastError error
}

// stream edits files as one stream.
func (r *sedRun) stream(names []string) int {
	status := 0
	defer func() { r.p.hold(-r.held) }()
	if len(names) > 0 {
		status = r.readAhead(names)
	} else { // the standard input is edited line by line
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
		r.newline = line.newline
		r.set(line.text)
		r.cycle()
	}
	if r.lastError != nil {
		return r.p.fail("%v", r.lastError)
	}
	if r.status != 0 {
		return r.status
	}
	return status
}

// readAhead makes all lines of files the input.
func (r *sedRun) readAhead(names []string) (status int) {
	var all []inputLine
	status = r.p.eachInput(names, func(_ string, in io.Reader) error {
		return r.p.lines(in, func(line []byte, newline bool) bool {
			r.p.hold(len(line) + 24)
			r.held += len(line) + 24
			all = append(all, inputLine{string(line), newline})
			return true
		})
	})
	r.ended = func() bool { return len(all) == 0 }
	r.input = func() (line inputLine, ok bool) {
		if len(all) == 0 {
			return inputLine{}, false
		}
		line, all = all[0], all[1:]
		return line, true
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

// print prints a line.
func (r *sedRun) print(s string) { r.write(s, true) }

// printPattern prints the pattern space, with a newline if the input has one.
func (r *sedRun) printPattern() { r.write(r.pattern, r.newline) }

func (r *sedRun) write(s string, newline bool) {
	if r.missing {
		s = "\n" + s
	}
	if newline {
		s += "\n"
	}
	r.missing = !newline
	if _, err := io.WriteString(r.out, s); err != nil {
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
		r.printPattern()
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
		r.printPattern()
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
			r.printPattern()
		}
		r.flushAfter()
		r.set(line.text)
	} else {
		r.set(r.pattern + "\n" + line.text)
	}
	r.newline = line.newline
	r.line++
	return i + 1, false
}
