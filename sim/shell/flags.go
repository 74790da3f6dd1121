package shell

import (
	"cmp"
	"path"
	"strings"
)

// flags are the options of a program.
type flags map[byte]string

func (f flags) has(c byte) bool {
	_, ok := f[c]
	return ok
}

// parseFlags parses options as getopt does, those after operands too. The spec
// has a letter per option: with a colon if it has a value, with two if the value can only
// follow in the same argument, with :* if it can be repeated. long names options
// by their long name. A spec that begins with + leaves what follows the first operand to
// another program. An option that is not valid ends the program.
func (p *proc) parseFlags(args []string, spec string, long map[string]byte) (f flags, rest []string) {
	f = flags{}
	for i := 1; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return f, append(rest, args[i+1:]...)
		case strings.HasPrefix(arg, "--"):
			i += p.longFlag(f, args[i:], spec, long)
		case len(arg) > 1 && arg[0] == '-':
			i += p.shortFlags(f, args[i:], spec)
		case strings.HasPrefix(spec, "+"):
			return f, args[i:]
		default:
			rest = append(rest, arg)
		}
	}
	return f, rest
}

// usageStatus is with what programs exit if their arguments are not valid, unless it is 1.
var usageStatus = map[string]int{"cmp": 2, "curl": 2, "egrep": 2, "fgrep": 2, "grep": 2, "sort": 2, "timeout": 125, "tty": 2, "wget": 2}

// exitUsage ends a program whose arguments are not valid.
func (p *proc) exitUsage(format string, args ...any) {
	p.fail(format, args...)
	panic(abort{cmp.Or(usageStatus[path.Base(p.args[0])], 1)})
}

// longFlag parses the option that args begins with, and reports how many arguments its value took.
func (p *proc) longFlag(f flags, args []string, spec string, long map[string]byte) (took int) {
	name, value, has := strings.Cut(args[0][2:], "=")
	c, known := long[name]
	if !known {
		p.exitUsage("unrecognized option '--%s'", name)
	}
	kind, _ := flagKind(spec, c)
	if !has && (kind == ":" || kind == ":*") {
		if len(args) < 2 {
			p.exitUsage("option '--%s' requires an argument", name)
		}
		value, took = args[1], 1
	}
	f.add(c, kind, value)
	return took
}

// shortFlags parses the options of the argument that args begins with, as longFlag does.
func (p *proc) shortFlags(f flags, args []string, spec string) (took int) {
	for arg := args[0][1:]; arg != ""; arg = arg[1:] {
		c := arg[0]
		kind, known := flagKind(spec, c)
		if !known {
			p.exitUsage("unrecognized option: %c", c)
		}
		if kind == "" {
			f.add(c, kind, "")
			continue
		}
		value := arg[1:]
		if value == "" && kind != "::" {
			if len(args) < 2 {
				p.exitUsage("option requires an argument: %c", c)
			}
			value, took = args[1], 1
		}
		f.add(c, kind, value)
		return took
	}
	return 0
}

// flagKind returns what follows an option in a spec.
func flagKind(spec string, c byte) (kind string, known bool) {
	at := strings.IndexByte(spec, c)
	if at < 0 || strings.IndexByte("+:*", c) >= 0 {
		return "", false
	}
	rest := spec[at+1:]
	return rest[:len(rest)-len(strings.TrimLeft(rest, ":*"))], true
}

func (f flags) add(c byte, kind, value string) {
	if old, ok := f[c]; ok && kind == ":*" {
		value = old + "\n" + value
	}
	f[c] = value
}

// lines returns the values of an option that can be repeated, by line.
func (f flags) lines(c byte) []string {
	if !f.has(c) {
		return nil
	}
	return strings.Split(f[c], "\n")
}
