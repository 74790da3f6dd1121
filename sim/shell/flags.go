package shell

import "strings"

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
// another program. ok is false if an error was reported.
func (p *proc) parseFlags(args []string, spec string, long map[string]byte) (f flags, rest []string, ok bool) {
	f = flags{}
	for i := 1; i < len(args); i++ {
		arg := args[i]
		took := 0
		switch {
		case arg == "--":
			return f, append(rest, args[i+1:]...), true
		case strings.HasPrefix(arg, "--"):
			took, ok = p.longFlag(f, args[i:], spec, long)
		case len(arg) > 1 && arg[0] == '-':
			took, ok = p.shortFlags(f, args[i:], spec)
		case strings.HasPrefix(spec, "+"):
			return f, args[i:], true
		default:
			rest = append(rest, arg)
			continue
		}
		if !ok {
			return nil, nil, false
		}
		i += took
	}
	return f, rest, true
}

// longFlag parses the option that args begins with, and reports how many arguments its value took.
func (p *proc) longFlag(f flags, args []string, spec string, long map[string]byte) (took int, ok bool) {
	name, value, has := strings.Cut(args[0][2:], "=")
	c, known := long[name]
	if !known {
		p.fail("unrecognized option '--%s'", name)
		return 0, false
	}
	kind, _ := flagKind(spec, c)
	if !has && (kind == ":" || kind == ":*") {
		if len(args) < 2 {
			p.fail("option '--%s' requires an argument", name)
			return 0, false
		}
		value, took = args[1], 1
	}
	f.add(c, kind, value)
	return took, true
}

// shortFlags parses the options of the argument that args begins with, as longFlag does.
func (p *proc) shortFlags(f flags, args []string, spec string) (took int, ok bool) {
	for arg := args[0][1:]; arg != ""; arg = arg[1:] {
		c := arg[0]
		kind, known := flagKind(spec, c)
		if !known {
			p.fail("unrecognized option: %c", c)
			return 0, false
		}
		if kind == "" {
			f.add(c, kind, "")
			continue
		}
		value := arg[1:]
		if value == "" && kind != "::" {
			if len(args) < 2 {
				p.fail("option requires an argument: %c", c)
				return 0, false
			}
			value, took = args[1], 1
		}
		f.add(c, kind, value)
		return took, true
	}
	return 0, true
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
