package shell

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func kill(p *proc, args []string) int {
	sig, rest := syscall.SIGTERM, args[1:]
	if len(rest) > 0 && rest[0] == "-l" {
		return p.listSignals(rest[1:])
	}
	if len(rest) > 0 && strings.HasPrefix(rest[0], "-") && len(rest[0]) > 1 && rest[0] != "--" {
		name := rest[0][1:]
		if (name == "s" || name == "n") && len(rest) > 1 {
			name, rest = rest[1], rest[1:]
		}
		var ok bool
		if sig, ok = parseSignal(name); !ok {
			p.errorf("kill: bad signal name '%s'", name)
			return 1
		}
		rest = rest[1:]
	}
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		p.errorf("kill: you need to specify whom to kill")
		return 1
	}
	status := 0
	for _, arg := range rest {
		pid, err := strconv.Atoi(arg)
		switch {
		case err != nil:
			p.errorf("kill: invalid number '%s'", arg)
			status = 1
		case pid <= 0:
			p.signalGroup(pid, sig)
		case !p.signalProcess(pid, sig):
			p.errorf("kill: can't kill pid %d: %s", pid, errText(syscall.ESRCH))
			status = 1
		}
	}
	p.abortIfDone()
	return status
}

// listSignals prints the names of numbers and exit statuses, the numbers of names, or all names.
func (p *proc) listSignals(args []string) int {
	if len(args) == 0 {
		p.print(strings.Join(signalNames[1:], " ") + "\n")
	}
	status := 0
	for _, arg := range args {
		number, err := strconv.Atoi(arg)
		if err == nil && number > 128 {
			number -= 128
		}
		sig, ok := parseSignal(arg)
		switch {
		case err == nil && number >= 0 && number < len(signalNames):
			p.print(signalNames[number] + "\n")
		case err != nil && ok:
			p.printf("%d\n", int(sig))
		default:
			p.errorf("kill: bad signal name '%s'", arg)
			status = 1
		}
	}
	return status
}

// signalGroup sends a signal to a process group, of which there is one, or to all processes
// (-1).
func (p *proc) signalGroup(pid int, sig syscall.Signal) {
	for _, other := range p.m.table.list() {
		if other.pid != 1 && other.m == p.m && !(pid == -1 && other == p) { // as Linux does
			other.signal(sig)
		}
	}
}

// signalProcess sends a signal to a process and reports whether it exists.
func (p *proc) signalProcess(pid int, sig syscall.Signal) bool {
	if first := p.m.table.outside(); pid == 1 && first != nil {
		if sig != 0 && !harmless.has(sig) {
			first.signal(sig)
		}
		return true
	}
	target := p.m.table.find(pid)
	if target == nil {
		return false
	}
	target.signal(sig)
	return true
}

func ps(p *proc, args []string) int {
	for _, arg := range args[1:] { // which of the processes are shown makes no difference
		if c := strings.Trim(arg, "-aAefuwx"); c != "" {
			return p.fail("unrecognized option: %c", c[0])
		}
	}
	p.print("PID   USER     TIME  COMMAND\n")
	if first := p.m.table.outside(); first != nil {
		p.printf("%5d %-8s  0:00 %s\n", 1, p.m.userName(first.user), first.name)
	}
	for _, other := range p.m.table.list() {
		if other.hidden.Load() {
			continue
		}
		p.printf("%5d %-8s  0:00 %s\n", other.pid, p.m.userName(int(other.m.cred.uid)), strings.Join(other.commandLine(), " "))
	}
	return 0
}

// commandLine returns the arguments of a process, which exec may change.
func (p *proc) commandLine() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.args
}

// pgrep is pgrep, pkill, killall and pidof.
func pgrep(p *proc, args []string) int {
	program := path.Base(args[0])
	byName := program == "killall" || program == "pidof"
	sig, full, exact, rest := syscall.SIGTERM, false, false, args[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && len(rest[0]) > 1 {
		if s, ok := parseSignal(rest[0][1:]); ok && (program == "pkill" || program == "killall") {
			sig = s
		} else if c := strings.Trim(rest[0][1:], "fx"); c != "" || byName {
			return p.fail("unrecognized option: %s", cmp.Or(c, rest[0][1:])[:1])
		} else {
			full = full || strings.Contains(rest[0], "f")
			exact = exact || strings.Contains(rest[0], "x")
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return p.fail("no pattern")
	}
	pattern, err := p.processPattern(rest[0], exact)
	if err != nil && !byName {
		return p.fail("%v", err)
	}
	var found []string
	for _, other := range p.m.table.list() {
		command := other.commandLine()
		if other.pid == p.pid || other.hidden.Load() || len(command) == 0 {
			continue
		}
		name := path.Base(command[0])
		matched := slices.Contains(rest, name)
		if !byName {
			text := name
			if full {
				text = strings.Join(command, " ")
			}
			matched = pattern.matches(p, text)
		}
		if !matched {
			continue
		}
		found = append(found, strconv.Itoa(other.pid))
		if program == "pkill" || program == "killall" {
			other.signal(sig)
		}
	}
	p.abortIfDone()
	switch {
	case len(found) == 0:
		if program == "killall" {
			return p.fail("%s: no process killed", rest[0])
		}
		return 1
	case program == "pgrep":
		p.print(strings.Join(found, "\n") + "\n")
	case program == "pidof":
		slices.Reverse(found)
		p.print(strings.Join(found, " ") + "\n")
	}
	return 0
}

// processPattern returns the regular expression of pgrep and pkill, which has to match all of
// the name or command if it is exact.
func (p *proc) processPattern(pattern string, exact bool) (*boundedRegexp, error) {
	translated, err := translateRegexp(pattern, true)
	if err != nil {
		return nil, fmt.Errorf("bad regular expression: %w", err)
	}
	if exact {
		translated = "^(?:" + translated + ")$"
	}
	return compileRegexp(p, translated)
}

func timeout(p *proc, args []string) int {
	f, rest := p.parseFlags(args, "+s:k:t:", map[string]byte{"signal": 's', "kill-after": 'k'})
	sig := syscall.SIGTERM
	if f.has('s') {
		var ok bool
		if sig, ok = parseSignal(f['s']); !ok {
			return p.fail("invalid signal '%s'", f['s'])
		}
	}
	if f.has('t') { // of older versions
		rest = append([]string{f['t']}, rest...)
	}
	if len(rest) < 2 {
		return p.fail("missing operand")
	}
	after, err := sleepTime(rest[:1])
	killAfter := time.Duration(0)
	if f.has('k') && err == nil {
		killAfter, err = sleepTime([]string{f['k']})
	}
	if err != nil {
		return p.fail("%v", err)
	}
	var timers []*time.Timer
	defer func() {
		for _, t := range timers {
			t.Stop()
		}
	}()
	return p.childWith(rest[1:], func(c *proc) {
		if after > 0 {
			timers = append(timers, time.AfterFunc(after, func() { c.signal(sig) }))
		}
		if after > 0 && killAfter > 0 {
			timers = append(timers, time.AfterFunc(after+killAfter, func() { c.signal(syscall.SIGKILL) }))
		}
	})
}

func nohup(p *proc, args []string) int {
	if len(args) < 2 {
		return p.fail("missing operand")
	}
	p.mu.Lock()
	p.ignored |= signalBits("HUP")
	p.mu.Unlock()
	return p.child(args[1:])
}
