package shell

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
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
const maxWidth = 64 << 10

func printf(p *proc, args []string) int {
	if len(args) > 1 && args[1] == "--" {
		args = args[1:]
	}
	if len(args) > 1 && args[1] == "-v" {
		p.errorf("printf: unrecognized option: v")
		return 2
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
	spec, widest := "%"+format[1:i], 0
	number := func() (int, bool) {
		if i < len(format) && format[i] == '*' {
			i++
			w, _ := strconv.Atoi(f.arg())
			if w < 0 {
				spec += "-"
				w = -w
			}
			widest = max(widest, w)
			return w, true
		}
		from := i
		for i < len(format) && format[i] >= '0' && format[i] <= '9' {
			i++
		}
		w, err := strconv.Atoi(format[from:i])
		if i > from && err != nil {
			w = math.MaxInt
		}
		widest = max(widest, w)
		return w, i > from
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
	if widest > maxWidth {
		f.p.errorf("printf: %s: more than %d characters are not simulated", format[:i+1], maxWidth)
		f.status = 1
		return 0, true
	}
	f.p.step(widest / 256)
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
