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

// awkFormatter is a run of printf or sprintf.
type awkFormatter struct {
	r    *awkRun
	text string // the format
	rest []*awkNode
	out  strings.Builder
}

// sprintf formats: the first argument is the format.
func (r *awkRun) sprintf(args []*awkNode) string {
	f := awkFormatter{r: r, text: r.eval(args[0]).text(), rest: args[1:]}
	held := 0
	defer func() { r.p.hold(-held) }()
	for i := 0; i < len(f.text); i++ {
		if f.text[i] != '%' || i+1 == len(f.text) {
			f.out.WriteByte(f.text[i])
			continue
		}
		spec, end := f.spec(i + 1)
		before := f.out.Len()
		f.convert(spec, f.text[end])
		r.p.step(1)
		r.p.hold(f.out.Len() - before)
		held += f.out.Len() - before
		i = end
	}
	return f.out.String()
}

// arg returns the next argument.
func (f *awkFormatter) arg() awkValue {
	if len(f.rest) == 0 {
		return awkValue{}
	}
	v := f.r.eval(f.rest[0])
	f.rest = f.rest[1:]
	return v
}

// spec reads the flags, width and precision of a directive and returns where its verb is.
func (f *awkFormatter) spec(from int) (spec string, end int) {
	spec, end = "%", from
	for end < len(f.text) && strings.IndexByte("-+ #0123456789.*", f.text[end]) >= 0 {
		if f.text[end] == '*' {
			spec += strconv.Itoa(int(max(-maxWidth, min(f.arg().number(), maxWidth))))
		} else {
			spec += f.text[end : end+1]
		}
		end++
	}
	if end == len(f.text) || len(spec) > 12 {
		failExpansion("bad format %q", f.text)
	}
	for _, number := range strings.FieldsFunc(spec, func(c rune) bool { return c < '0' || c > '9' }) {
		if w, _ := strconv.Atoi(number); w > maxWidth {
			failExpansion("bad format %q: too wide", f.text)
		}
	}
	return spec, end
}

// convert formats the next argument.
func (f *awkFormatter) convert(spec string, verb byte) {
	switch verb {
	case '%':
		f.out.WriteByte('%')
	case 'd', 'i':
		fmt.Fprintf(&f.out, spec+"d", int64(f.arg().number()))
	case 'u':
		fmt.Fprintf(&f.out, spec+"d", uint64(int64(f.arg().number())))
	case 'o', 'x', 'X':
		fmt.Fprintf(&f.out, spec+string(verb), uint64(int64(f.arg().number())))
	case 'e', 'E', 'f', 'F', 'g', 'G':
		fmt.Fprintf(&f.out, spec+string(verb), f.arg().number())
	case 'c':
		v := f.arg()
		text := firstRune(v.text())
		if v.isNum {
			text = string(rune(int(v.n)))
		}
		fmt.Fprintf(&f.out, spec+"s", text)
	case 's':
		fmt.Fprintf(&f.out, spec+"s", f.arg().text())
	default:
		failExpansion("bad format %q", f.text)
	}
}
