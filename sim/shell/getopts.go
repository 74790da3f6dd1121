package shell

import (
	"strconv"
	"strings"
)

// getoptsState is where getopts is within an argument.
type getoptsState struct{ offset int }

func builtinGetopts(sh *shell, args []string) flow {
	if len(args) < 3 {
		return sh.fail("usage: getopts optstring var [arg...]")
	}
	spec, name := args[1], args[2]
	params := sh.params
	if len(args) > 3 {
		params = args[3:]
	}
	text, _ := sh.variable("OPTIND")
	index, _ := strconv.Atoi(text)
	g := getopts{sh: sh, spec: spec, params: params, index: max(index, 1), offset: sh.getopts.offset}
	opt, ok := g.next()
	sh.set(name, opt)
	sh.set("OPTIND", strconv.Itoa(g.index))
	sh.getopts.offset = g.offset
	sh.status = int(truth(!ok))
	return next
}

// getopts finds the next option of a script.
type getopts struct {
	sh     *shell
	spec   string // as for the builtin
	params []string
	index  int // of the next argument, from 1
	offset int // of the next option in it; 0 = a new argument
}

// next returns the next option, ? for one that is not valid, or : for a missing value; ok is
// false at the end of the options. It sets OPTARG.
func (g *getopts) next() (opt string, ok bool) {
	if g.index > len(g.params) {
		g.offset = 0
		return "?", false
	}
	arg := g.params[g.index-1]
	if len(arg) < 2 || arg[0] != '-' || arg == "--" {
		if arg == "--" {
			g.index++
		}
		g.offset = 0
		return "?", false
	}
	if g.offset < 1 || g.offset >= len(arg) {
		g.offset = 1
	}
	opt = arg[g.offset : g.offset+1]
	rest := arg[g.offset+1:]
	if g.offset++; rest == "" {
		g.index, g.offset = g.index+1, 0
	}
	at := strings.Index(g.spec, opt)
	switch {
	case at < 0 || opt == ":":
		return g.invalid(opt), true
	case strings.HasPrefix(g.spec[at+1:], ":"):
		return g.value(opt, rest), true
	}
	g.sh.unset("OPTARG")
	return opt, true
}

// quiet reports whether the script itself reports errors.
func (g *getopts) quiet() bool { return strings.HasPrefix(g.spec, ":") }

// invalid reports an option that is not in the spec.
func (g *getopts) invalid(opt string) string {
	if g.quiet() {
		g.sh.set("OPTARG", opt)
	} else {
		g.sh.errorf("illegal option -%s", opt)
	}
	return "?"
}

// value takes the value of an option: the rest of its argument, or the next one.
func (g *getopts) value(opt, rest string) string {
	if rest != "" {
		g.index, g.offset = g.index+1, 0
		g.sh.set("OPTARG", rest)
		return opt
	}
	switch {
	case g.index <= len(g.params):
		g.sh.set("OPTARG", g.params[g.index-1])
		g.index++
		return opt
	case g.quiet():
		g.sh.set("OPTARG", opt)
		return ":"
	}
	g.sh.errorf("no arg for -%s option", opt)
	return "?"
}
