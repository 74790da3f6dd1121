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
	text, _ := sh.lookup("OPTIND")
	index, _ := strconv.Atoi(text)
	index = max(index, 1)
	offset := sh.getopts.offset
	finish := func(opt string, index, offset, status int) flow {
		sh.set(name, opt)
		sh.set("OPTIND", strconv.Itoa(index))
		sh.getopts.offset = offset
		sh.status = status
		return next
	}
	if index > len(params) {
		return finish("?", index, 0, 1)
	}
	arg := params[index-1]
	if len(arg) < 2 || arg[0] != '-' || arg == "--" {
		if arg == "--" {
			index++
		}
		return finish("?", index, 0, 1)
	}
	if offset < 1 || offset >= len(arg) {
		offset = 1
	}
	opt := arg[offset : offset+1]
	at := strings.Index(spec, opt)
	quiet := strings.HasPrefix(spec, ":")
	last := offset+1 == len(arg)
	if at < 0 || opt == ":" {
		if quiet {
			sh.set("OPTARG", opt)
		} else {
			sh.errorf("illegal option -%s", opt)
		}
		if last {
			return finish("?", index+1, 0, 0)
		}
		return finish("?", index, offset+1, 0)
	}
	if !strings.HasPrefix(spec[at+1:], ":") {
		sh.unset("OPTARG")
		if last {
			return finish(opt, index+1, 0, 0)
		}
		return finish(opt, index, offset+1, 0)
	}
	switch {
	case !last:
		sh.set("OPTARG", arg[offset+1:])
	case index < len(params):
		index++
		sh.set("OPTARG", params[index-1])
	case quiet:
		sh.set("OPTARG", opt)
		return finish(":", index+1, 0, 0)
	default:
		sh.errorf("no arg for -%s option", opt)
		return finish("?", index+1, 0, 0)
	}
	return finish(opt, index+1, 0, 0)
}
