package shell

import (
	"maps"
	"slices"
	"strings"
	"syscall"
)

func builtinTrap(sh *shell, args []string) flow {
	sh.status = 0
	args = args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 || args[0] == "-p" {
		for _, name := range slices.Sorted(maps.Keys(sh.traps)) {
			sh.p.printf("trap -- %s %s\n", quoted(sh.traps[name]), name)
		}
		return next
	}
	if args[0] == "-l" {
		sh.p.print(strings.Join(signalNames[1:], " ") + "\n")
		return next
	}
	action := "-"
	if len(args) > 1 {
		action, args = args[0], args[1:]
	}
	if sh.traps == nil {
		sh.traps = map[string]string{}
	}
	for _, arg := range args {
		name := "ERR"
		sig, ok := parseSignal(arg)
		if ok {
			name = signalNames[sig]
		} else if arg != "ERR" {
			sh.errorf("trap: %s: invalid signal specification", arg)
			sh.status = 1
			continue
		}
		sh.setTrap(name, sig, action)
	}
	return next
}

func (sh *shell) setTrap(name string, sig syscall.Signal, action string) {
	sh.hold(len(action) - len(sh.traps[name]))
	if action == "-" {
		sh.hold(-len(action))
		delete(sh.traps, name)
	} else {
		sh.traps[name] = action
	}
	if sig == 0 {
		return
	}
	bit := signalSet(1) << uint(sig)
	sh.p.mu.Lock()
	defer sh.p.mu.Unlock()
	sh.p.trapped &^= bit
	sh.p.ignored &^= bit
	switch action {
	case "-":
	case "":
		sh.p.ignored |= bit
	default:
		sh.p.trapped |= bit
	}
}
