package shell

import (
	"fmt"
	"strings"
)

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
		r.printPattern()
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
