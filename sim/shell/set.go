package shell

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func builtinSet(sh *shell, args []string) flow {
	sh.status = 0
	if len(args) == 1 {
		for _, name := range slices.Sorted(maps.Keys(sh.vars)) {
			if v := sh.vars[name]; v.set {
				sh.p.printf("%s=%s\n", name, quoted(v.str))
			}
		}
		return next
	}
	rest, ok := sh.setOptions(args[1:])
	if !ok {
		sh.status = 2
		if sh.bash || sh.interactive {
			return next
		}
		return exitShell // as after an error of any special builtin
	}
	if rest != nil {
		sh.hold(paramsSize(rest) - sh.paramsHeld)
		sh.params, sh.paramsHeld = rest, paramsSize(rest)
	}
	return next
}

func paramsSize(params []string) int { return totalLen(params) + fieldCost*len(params) }

// setOptions sets options and returns the operands, nil if there are none.
func (sh *shell) setOptions(args []string) (rest []string, ok bool) {
	for len(args) > 0 {
		arg := args[0]
		if arg == "--" {
			return append([]string{}, args[1:]...), true
		}
		if len(arg) < 2 || arg[0] != '-' && arg[0] != '+' {
			if arg == "-" {
				return append([]string{}, args[1:]...), true
			}
			return args, true
		}
		args = args[1:]
		on := arg[0] == '-'
		for _, flag := range []byte(arg[1:]) {
			if flag == 'o' {
				if len(args) == 0 {
					sh.listOptions()
					return nil, true
				}
				if !sh.setOption(0, args[0], on) {
					return nil, false
				}
				args = args[1:]
				continue
			}
			if !sh.setOption(flag, "", on) {
				return nil, false
			}
		}
	}
	return nil, true
}

func (sh *shell) setOption(flag byte, name string, on bool) bool {
	for _, opt := range optionTable {
		if flag != 0 && opt.flag == flag || name != "" && opt.name == name {
			*opt.field(&sh.opt) = on
			return true
		}
	}
	if strings.IndexByte("hbilsk", flag) >= 0 || sh.bash && (flag == 'E' || flag == 'T' || name == "errtrace" || name == "functrace") || name == "posix" || name == "vi" || name == "emacs" {
		return true
	}
	if name == "" {
		name = "-" + string(rune(flag))
	}
	sh.errorf("set: illegal option %s", name)
	return false
}

func (sh *shell) listOptions() {
	for _, opt := range optionTable {
		state := "off"
		if *opt.field(&sh.opt) {
			state = "on"
		}
		sh.p.printf("%-15s %s\n", opt.name, state)
	}
}

func builtinShift(sh *shell, args []string) flow {
	n, ok := sh.numberArg(args, 1)
	if !ok {
		return next
	}
	if n < 0 || n > len(sh.params) {
		sh.status = 1
		return next
	}
	sh.params = sh.params[n:]
	sh.status = 0
	return next
}

// flags returns what $- shows.
func (o *options) flags() string {
	var b strings.Builder
	for _, opt := range optionTable {
		if opt.flag != 0 && *opt.field(o) {
			fmt.Fprintf(&b, "%c", opt.flag)
		}
	}
	return b.String()
}
