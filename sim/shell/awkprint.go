package shell

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
)

func (r *awkRun) write(w io.Writer, s string) {
	if _, err := io.WriteString(w, s); err != nil {
		failExpansion("write error: %s", errText(err))
	}
}

func (r *awkRun) print(n *awkNode) {
	args := n.args
	out := r.p.stdout()
	if n.text != "" {
		out = r.file(r.eval(args[len(args)-1]).text(), n.text)
		args = args[:len(args)-1]
	}
	var list []string
	for _, arg := range args {
		list = append(list, r.eval(arg).text())
	}
	if n.op == "printf" {
		if len(args) == 0 {
			failExpansion("printf needs a format")
		}
		r.write(out, r.sprintf(args))
		return
	}
	if len(list) == 0 {
		list = []string{r.field(0).s}
	}
	r.write(out, strings.Join(list, r.vars["OFS"].text())+r.vars["ORS"].text())
}

func (r *awkRun) file(name, mode string) io.Writer {
	switch name {
	case "/dev/stdout", "-":
		return r.p.stdout()
	case "/dev/stderr":
		return stream{r.p, 2}
	}
	if f, ok := r.files[name]; ok {
		return f
	}
	flags := syscall.O_TRUNC
	if mode == ">>" {
		flags = syscall.O_APPEND
	}
	f, err := r.p.create(name, flags)
	if err != nil {
		failExpansion("can't create %s: %s", name, errText(err))
	}
	r.files[name] = f
	return f
}

// sprintf formats: the first argument is the format.
func (r *awkRun) sprintf(args []*awkNode) string {
	var b strings.Builder
	format := r.eval(args[0]).text()
	rest := args[1:]
	arg := func() awkValue {
		if len(rest) == 0 {
			return awkValue{}
		}
		v := r.eval(rest[0])
		rest = rest[1:]
		return v
	}
	held := 0
	defer func() { r.p.hold(-held) }()
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		end := i + 1
		spec := "%"
		for end < len(format) && strings.IndexByte("-+ #0123456789.*", format[end]) >= 0 {
			if format[end] == '*' {
				spec += strconv.Itoa(int(max(-maxWidth, min(arg().number(), maxWidth))))
			} else {
				spec += format[end : end+1]
			}
			end++
		}
		if end == len(format) || len(spec) > 12 {
			failExpansion("bad format %q", format)
		}
		for _, number := range strings.FieldsFunc(spec, func(c rune) bool { return c < '0' || c > '9' }) {
			if w, _ := strconv.Atoi(number); w > maxWidth {
				failExpansion("bad format %q: too wide", format)
			}
		}
		before := b.Len()
		switch c := format[end]; c {
		case '%':
			b.WriteByte('%')
		case 'd', 'i':
			fmt.Fprintf(&b, spec+"d", int64(arg().number()))
		case 'o', 'x', 'X', 'u':
			if c == 'u' {
				c = 'd'
			}
			fmt.Fprintf(&b, spec+string(c), uint64(int64(arg().number())))
		case 'e', 'E', 'f', 'F', 'g', 'G':
			fmt.Fprintf(&b, spec+string(c), arg().number())
		case 'c':
			v := arg()
			text := firstRune(v.text())
			if v.isNum {
				text = string(rune(int(v.n)))
			}
			fmt.Fprintf(&b, spec+"s", text)
		case 's':
			fmt.Fprintf(&b, spec+"s", arg().text())
		default:
			failExpansion("bad format %q", format)
		}
		r.p.step(1)
		r.p.hold(b.Len() - before)
		held += b.Len() - before
		i = end
	}
	return b.String()
}
