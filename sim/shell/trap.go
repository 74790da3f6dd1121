package shell

import (
	"maps"
	"slices"
	"strconv"
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

func builtinWait(sh *shell, args []string) flow {
	sh.status = 0
	if len(args) == 1 || args[1] == "-n" {
		for _, j := range sh.jobs {
			status, interrupted := sh.await(j)
			if len(args) > 1 {
				sh.status = status
				break
			}
			if interrupted {
				sh.status = status
				return next
			}
		}
		if len(args) == 1 {
			sh.jobs = nil
		}
		return next
	}
	for _, arg := range args[1:] {
		j := sh.job(arg)
		if j == nil {
			sh.status = 127
			if args[0] == "fg" {
				return sh.fail("fg: %s: no such job", arg)
			}
			continue
		}
		sh.status, _ = sh.await(j)
	}
	return next
}

// job finds a job by %N or process ID.
func (sh *shell) job(name string) *job {
	if s, ok := strings.CutPrefix(name, "%"); ok {
		if n, err := strconv.Atoi(s); err == nil && n > 0 && n <= len(sh.jobs) {
			return sh.jobs[n-1]
		}
		if (s == "" || s == "%" || s == "+") && len(sh.jobs) > 0 {
			return sh.jobs[len(sh.jobs)-1]
		}
		return nil
	}
	for _, j := range sh.jobs {
		if strconv.Itoa(j.pid) == name {
			return j
		}
	}
	return nil
}

func builtinJobs(sh *shell, _ []string) flow {
	for i, j := range sh.jobs {
		state := "Done"
		if j.running() {
			state = "Running"
		}
		sh.p.printf("[%d]  %d %s\n", i+1, j.pid, state)
	}
	sh.status = 0
	return next
}

func builtinKill(sh *shell, args []string) flow {
	args = slices.Clone(args)
	for i, arg := range args {
		if strings.HasPrefix(arg, "%") {
			if j := sh.job(arg); j != nil {
				args[i] = strconv.Itoa(j.pid)
			}
		}
	}
	sh.status = kill(sh.p, args)
	return next
}
