package shell

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

type builtin func(sh *shell, args []string) flow

// specialBuiltins are found before functions.
var specialBuiltins = map[string]bool{
	":": true, ".": true, "break": true, "continue": true, "eval": true, "exec": true, "exit": true, "export": true, "readonly": true,
	"return": true, "set": true, "shift": true, "trap": true, "unset": true, "times": true,
}

var builtinTable map[string]builtin

func init() { // not in the declaration: builtins run builtins
	builtinTable = map[string]builtin{
		":": status(0), "true": status(0), "false": status(1), "hash": status(0), "bg": status(0),
		"exit": builtinExit, "return": builtinReturn, "break": builtinBreak, "continue": builtinBreak,
		"cd": builtinCd, "pwd": builtinPwd, "echo": builtinEcho, "printf": builtinPrintf, "test": builtinTest, "[": builtinTest,
		"export": builtinDeclare, "readonly": builtinDeclare, "local": builtinDeclare, "declare": builtinDeclare, "typeset": builtinDeclare,
		"unset": builtinUnset, "set": builtinSet, "shift": builtinShift, "eval": builtinEval, ".": builtinSource, "source": builtinSource,
		"exec": builtinExec, "trap": builtinTrap, "wait": builtinWait, "fg": builtinWait, "kill": builtinKill, "read": builtinRead,
		"type": builtinType, "command": builtinCommand, "builtin": builtinCommand, "alias": builtinAlias, "unalias": builtinUnalias,
		"umask": builtinUmask, "getopts": builtinGetopts, "jobs": builtinJobs, "times": builtinTimes, "ulimit": builtinUlimit,
		"let": builtinLet, "shopt": builtinShopt,
	}
}

func builtins() map[string]builtin { return builtinTable }

// status returns a builtin that only sets the exit status.
func status(n int) builtin {
	return func(sh *shell, _ []string) flow {
		sh.status = n
		return next
	}
}

// fail reports an error of a builtin.
func (sh *shell) fail(format string, args ...any) flow {
	sh.errorf(format, args...)
	sh.status = 1
	return next
}

// number parses the optional first argument of a builtin.
func (sh *shell) numberArg(args []string, otherwise int) (int, bool) {
	if len(args) < 2 {
		return otherwise, true
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		sh.errorf("%s: Illegal number: %s", args[0], args[1])
		sh.status = 2
		return 0, false
	}
	return n, true
}

func builtinExit(sh *shell, args []string) flow {
	if n, ok := sh.numberArg(args, sh.status); ok {
		sh.status = n & 0xff
	}
	return exitShell
}

func builtinReturn(sh *shell, args []string) flow {
	n, ok := sh.numberArg(args, sh.status)
	if !ok {
		return next
	}
	sh.status = n & 0xff
	return returnFunc
}

func builtinBreak(sh *shell, args []string) flow {
	n, ok := sh.numberArg(args, 1)
	if !ok || sh.loops == 0 {
		return next
	}
	sh.levels = min(max(n, 1), sh.loops)
	sh.status = 0
	if args[0] == "break" {
		return breakLoop
	}
	return continueLoop
}

func builtinCd(sh *shell, args []string) flow {
	for len(args) > 1 && (args[1] == "-P" || args[1] == "-L" || args[1] == "--") {
		args = args[1:]
	}
	to, show := "", false
	switch {
	case len(args) < 2:
		to, _ = sh.lookup("HOME")
		if to == "" {
			return sh.fail("cd: HOME not set")
		}
	case args[1] == "-":
		to, _ = sh.lookup("OLDPWD")
		if to == "" {
			return sh.fail("cd: OLDPWD not set")
		}
		show = true
	default:
		to = args[1]
	}
	dir := sh.p.clean(to)
	info, err := sh.p.m.fs.stat(sh.p.cred, dir, true)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err == nil {
		err = sh.p.m.fs.access(sh.p.cred, dir, mayExec)
	}
	if err != nil {
		return sh.fail("cd: can't cd to %s: %s", to, errText(err))
	}
	sh.setVar("OLDPWD", variable{str: sh.p.dir, set: true, exported: true})
	sh.p.dir = dir
	sh.setVar("PWD", variable{str: dir, set: true, exported: true})
	if show {
		sh.p.print(dir + "\n")
	}
	sh.status = 0
	return next
}

func builtinPwd(sh *shell, args []string) flow {
	dir := sh.p.dir
	if len(args) > 1 && args[1] == "-P" {
		if at, err := sh.p.m.fs.existing(sh.p.cred, dir, true, false); err == nil {
			dir = at.path
		}
	}
	sh.p.print(dir + "\n")
	sh.status = 0
	return next
}

func builtinEcho(sh *shell, args []string) flow {
	sh.status = echo(sh.p, args)
	return next
}

func builtinPrintf(sh *shell, args []string) flow {
	sh.status = printf(sh.p, args)
	return next
}

func builtinTest(sh *shell, args []string) flow {
	sh.status = test(sh.p, args)
	return next
}

func builtinLet(sh *shell, args []string) flow {
	for _, arg := range args[1:] {
		x, err := syntax.NewParser().Arithmetic(guard(arg))
		if err != nil {
			return sh.fail("let: %s", syntaxError(err))
		}
		sh.status = int(truth(sh.arithm(x) == 0))
	}
	return next
}

func builtinShopt(sh *shell, _ []string) flow {
	sh.status = 0
	return next
}

// declClause runs export, readonly, local and declare.
func (sh *shell) declClause(cmd *syntax.DeclClause) flow {
	d := declaration{sh: sh, name: cmd.Variant.Value}
	sh.status = 0
	for _, as := range cmd.Args {
		if as.Name == nil || as.Naked {
			word := as.Value
			if as.Name != nil {
				word = &syntax.Word{Parts: []syntax.WordPart{as.Name}}
			}
			for _, arg := range sh.fields([]*syntax.Word{word}) {
				d.arg(arg)
			}
			continue
		}
		d.begin(as.Name.Value)
		sh.assign(as)
		d.end(as.Name.Value)
	}
	d.finish()
	return next
}

func builtinDeclare(sh *shell, args []string) flow {
	d := declaration{sh: sh, name: args[0]}
	sh.status = 0
	for _, arg := range args[1:] {
		d.arg(arg)
	}
	d.finish()
	return next
}

// declaration is one run of export, readonly, local or declare.
type declaration struct {
	sh             *shell
	name           string
	flags          string
	seen, operands bool
}

func (d *declaration) arg(arg string) {
	if !d.operands && (strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "+")) && len(arg) > 1 {
		if strings.Contains(arg, "A") {
			failExpansion("%s: associative arrays are not simulated", d.name)
		}
		if arg[0] == '-' {
			d.flags += arg[1:]
		}
		return
	}
	d.operands = true
	name, value, assigns := strings.Cut(arg, "=")
	if !syntax.ValidName(name) {
		d.sh.errorf("%s: %s: bad variable name", d.name, name)
		d.sh.status = 2
		return
	}
	d.begin(name)
	if assigns {
		d.sh.set(name, value)
	}
	d.end(name)
}

// begin makes the variable local if it is to be.
func (d *declaration) begin(name string) {
	d.seen = true
	sh := d.sh
	if d.name == "export" || d.name == "readonly" || strings.Contains(d.flags, "g") {
		return
	}
	if sh.inFunc == 0 || len(sh.locals) == 0 {
		if d.name == "local" {
			failExpansion("local: not in a function")
		}
		return
	}
	frame := sh.locals[len(sh.locals)-1]
	if frame == nil {
		frame = map[string]variable{}
		sh.locals[len(sh.locals)-1] = frame
	}
	if _, ok := frame[name]; ok {
		return
	}
	sh.checkWritable(name)
	old := sh.vars[name]
	frame[name] = old
	if old.array || old.set {
		old.array, old.list, old.str = false, nil, ""
		old.set = false
		sh.setVar(name, old)
	}
}

// end sets the attributes.
func (d *declaration) end(name string) {
	v := d.sh.vars[name]
	if d.name == "export" || strings.Contains(d.flags, "x") && d.name != "readonly" {
		v.exported = !strings.Contains(d.flags, "n")
	}
	if d.name == "readonly" || strings.Contains(d.flags, "r") {
		v.readonly = true
	}
	if strings.Contains(d.flags, "a") && !v.set {
		v.array = true
	}
	d.sh.setVar(name, v)
}

// finish prints the variables if none was named.
func (d *declaration) finish() {
	if d.seen {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(d.sh.vars)) {
		v := d.sh.vars[name]
		if d.name == "export" && !v.exported || d.name == "readonly" && !v.readonly {
			continue
		}
		text := name
		if v.set {
			text += "=" + quoted(v.str)
		}
		d.sh.p.printf("%s %s\n", d.name, text)
	}
}

// quoted quotes a string even if it need not be.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" }

func builtinUnset(sh *shell, args []string) flow {
	sh.status = 0
	funcs := false
	for _, arg := range args[1:] {
		switch name, index, isElement := strings.Cut(arg, "["); {
		case arg == "-f":
			funcs = true
		case arg == "-v":
			funcs = false
		case funcs:
			sh.hold(-sh.funcs[arg].size)
			delete(sh.funcs, arg)
		case isElement:
			sh.unsetElement(name, strings.TrimSuffix(index, "]"))
		default:
			if _, isVar := sh.vars[arg]; isVar {
				sh.unset(arg)
				continue
			}
			sh.hold(-sh.funcs[arg].size)
			delete(sh.funcs, arg)
		}
	}
	return next
}

// unsetElement removes an element of an array: the last one, or it becomes empty.
func (sh *shell) unsetElement(name, index string) {
	v := sh.vars[name]
	i := sh.number(index, 0)
	if !v.array || i < 0 || i >= int64(len(v.list)) {
		return
	}
	sh.checkWritable(name)
	list := slices.Clone(v.list)
	if i == int64(len(list))-1 {
		list = list[:i]
	} else {
		list[i] = ""
	}
	v.list = list
	sh.setVar(name, v)
}

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
		return next
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
	if strings.IndexByte("hbilsk", flag) >= 0 || name == "posix" || name == "vi" || name == "emacs" {
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

func builtinEval(sh *shell, args []string) flow { return sh.eval(strings.Join(args[1:], " ")) }

func builtinSource(sh *shell, args []string) flow {
	if len(args) < 2 {
		return sh.fail("%s: filename argument required", args[0])
	}
	name := args[1]
	if !strings.Contains(name, "/") {
		for dir := range strings.SplitSeq(sh.path(), ":") {
			if info, err := sh.p.m.fs.stat(sh.p.cred, sh.p.abs(dir+"/"+name), true); err == nil && info.mode.IsRegular() {
				name = dir + "/" + name
				break
			}
		}
	}
	src, err := sh.p.readScript(name)
	if err != nil {
		if sh.interactive {
			return sh.fail("%s: can't open '%s': %s", args[0], args[1], errText(err))
		}
		failExpansion("%s: can't open '%s': %s", args[0], args[1], errText(err))
	}
	if len(args) > 2 {
		params := sh.params
		sh.params = args[2:]
		defer func() { sh.params = params }()
	}
	f := sh.eval(src)
	if f == returnFunc {
		f = next
	}
	return f
}

func builtinExec(sh *shell, args []string) flow {
	if len(args) > 1 && args[1] == "--" {
		args = args[1:]
	}
	if len(args) == 1 {
		sh.keepRedirs = true
		sh.status = 0
		return next
	}
	return sh.replaceBy(args[1:], "exec: ")
}

// replaceBy runs a program that takes the place of the shell: signals have
// their default effect again, and it gets the ID of the shell.
func (sh *shell) replaceBy(args []string, prefix string) flow {
	run, status, err := sh.p.find(args, sh.path())
	if err != nil {
		sh.errorf("%s%s", prefix, err)
		sh.status = status
		return exitShell
	}
	sh.traps = nil
	p := sh.p
	p.mu.Lock()
	p.trapped, p.pending = 0, 0
	p.args = args
	p.mu.Unlock()
	p.env = sh.environ()
	size := totalLen(p.env)
	p.hold(size)
	defer p.hold(-size)
	sh.status = p.guard(func() int { return run(p, args) })
	p.abortIfDone()
	return exitShell
}

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

func builtinType(sh *shell, args []string) flow {
	sh.status = 0
	for _, name := range args[1:] {
		if strings.HasPrefix(name, "-") {
			continue
		}
		text := ""
		if alias, ok := sh.aliases[name]; ok {
			text = "an alias for " + alias
		} else if _, ok := sh.funcs[name]; ok {
			text = "a function"
		} else if syntax.IsKeyword(name) {
			text = "a shell keyword"
		} else if builtinTable[name] != nil {
			text = "a shell builtin"
		} else if at, err := sh.p.look(name, sh.path()); err == nil {
			text = at
		}
		if text == "" {
			sh.errorf("type: %s: not found", name)
			sh.status = 127
			continue
		}
		sh.p.printf("%s is %s\n", name, text)
	}
	return next
}

func builtinCommand(sh *shell, args []string) flow {
	show := byte(0)
	rest := args[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && args[0] == "command" {
		switch rest[0] {
		case "-v", "-V":
			show = rest[0][1]
		case "-p":
		case "--":
		default:
			return sh.fail("command: illegal option %s", rest[0])
		}
		rest = rest[1:]
	}
	sh.status = 0
	if len(rest) == 0 {
		return next
	}
	if show == 'V' {
		return builtinType(sh, append([]string{"type"}, rest...))
	}
	if show == 'v' {
		sh.commandV(rest[0])
		return next
	}
	if b, ok := builtinTable[rest[0]]; ok {
		defer sh.p.enter()()
		return b(sh, rest)
	}
	if args[0] == "builtin" {
		return sh.fail("builtin: %s: not a shell builtin", rest[0])
	}
	sh.status = sh.program(rest)
	return next
}

func (sh *shell) commandV(name string) {
	_, isFunc := sh.funcs[name]
	if alias, ok := sh.aliases[name]; ok {
		sh.p.printf("alias %s=%s\n", name, quoted(alias))
	} else if isFunc || builtinTable[name] != nil || syntax.IsKeyword(name) {
		sh.p.print(name + "\n")
	} else if at, err := sh.p.look(name, sh.path()); err == nil {
		sh.p.print(at + "\n")
	} else {
		sh.status = 127
	}
}

func builtinAlias(sh *shell, args []string) flow {
	sh.status = 0
	if len(args) == 1 {
		for _, name := range slices.Sorted(maps.Keys(sh.aliases)) {
			sh.p.printf("%s=%s\n", name, quoted(sh.aliases[name]))
		}
	}
	for _, arg := range args[1:] {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			if _, ok := sh.aliases[name]; !ok {
				return sh.fail("alias: %s not found", name)
			}
			sh.p.printf("%s=%s\n", name, quoted(sh.aliases[name]))
			continue
		}
		if sh.aliases == nil {
			sh.aliases = map[string]string{}
		}
		sh.hold(len(arg) + 64)
		sh.aliases[name] = value
	}
	return next
}

func builtinUnalias(sh *shell, args []string) flow {
	sh.status = 0
	for _, arg := range args[1:] {
		if arg == "-a" {
			clear(sh.aliases)
		}
		delete(sh.aliases, arg)
	}
	return next
}

func builtinUmask(sh *shell, args []string) flow {
	sh.status = 0
	if len(args) < 2 {
		sh.p.printf("%04o\n", uint32(sh.p.cred.umask))
		return next
	}
	n, err := strconv.ParseUint(args[1], 8, 9)
	if err != nil {
		return sh.fail("umask: illegal mode: %s", args[1])
	}
	c := *sh.p.cred
	c.umask = fileMode(n)
	sh.p.cred = &c
	return next
}

func builtinTimes(sh *shell, _ []string) flow {
	sh.p.print("0m0.00s 0m0.00s\n0m0.00s 0m0.00s\n")
	sh.status = 0
	return next
}

func builtinUlimit(sh *shell, _ []string) flow {
	sh.p.print("unlimited\n")
	sh.status = 0
	return next
}

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

// readOptions are the options of read.
type readOptions struct {
	raw, array bool
	prompt     string
	most       int
	delim      byte
	timeout    time.Duration
	fd         int
	names      []string
}

func parseRead(args []string) (readOptions, error) {
	o := readOptions{most: -1, delim: '\n'}
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		if args[0] == "--" {
			args = args[1:]
			break
		}
		flags := args[0][1:]
		args = args[1:]
		for i := 0; i < len(flags); i++ {
			flag := flags[i]
			switch flag {
			case 'r':
				o.raw = true
				continue
			case 's', 'e':
				continue
			case 'a':
				o.array = true
				continue
			}
			value := flags[i+1:]
			i = len(flags)
			if value == "" {
				if len(args) == 0 {
					return o, fmt.Errorf("read: option -%c needs an argument", flag)
				}
				value, args = args[0], args[1:]
			}
			if err := o.set(flag, value); err != nil {
				return o, err
			}
		}
	}
	o.names = args
	for _, name := range args {
		if !syntax.ValidName(name) {
			return o, fmt.Errorf("read: %s: bad variable name", name)
		}
	}
	return o, nil
}

func (o *readOptions) set(flag byte, value string) (err error) {
	switch flag {
	case 'p':
		o.prompt = value
	case 'n', 'N':
		o.most, err = strconv.Atoi(value)
	case 'd':
		o.delim = 0
		if value != "" {
			o.delim = value[0]
		}
	case 't':
		var s float64
		s, err = strconv.ParseFloat(value, 64)
		o.timeout = time.Duration(max(s*1e9, 1))
	case 'u':
		o.fd, err = strconv.Atoi(value)
		if o.fd < 0 || o.fd >= len(fds{}) {
			err = syscall.EBADF
		}
	default:
		return fmt.Errorf("read: illegal option -%c", flag)
	}
	if err != nil {
		return fmt.Errorf("read: -%c %s: %s", flag, value, errText(err))
	}
	return nil
}

func builtinRead(sh *shell, args []string) flow {
	o, err := parseRead(args[1:])
	if err != nil {
		sh.errorf("%v", err)
		sh.status = 2
		return next
	}
	if o.prompt != "" && sh.p.isTerminal(0) {
		_, _ = stream{sh.p, 2}.Write([]byte(o.prompt))
	}
	line, escaped, ended := sh.readLine(o)
	defer sh.p.hold(-len(line))
	sh.status = int(truth(!ended))
	if o.array {
		name := "REPLY"
		if len(o.names) > 0 {
			name = o.names[0]
		}
		sh.checkWritable(name)
		sh.setVar(name, variable{array: true, set: true, list: sh.splitRead(line, escaped, -1)})
		return next
	}
	if len(o.names) == 0 {
		sh.set("REPLY", string(line))
		return next
	}
	parts := sh.splitRead(line, escaped, len(o.names))
	for i, name := range o.names {
		part := ""
		if i < len(parts) {
			part = parts[i]
		}
		sh.set(name, part)
	}
	return next
}

// readLine reads a line byte by byte, as what follows it is for other readers.
// It returns which bytes were escaped by a backslash, and whether the line was
// complete.
func (sh *shell) readLine(o readOptions) (line []byte, escaped map[int]bool, ended bool) {
	p := sh.p
	if o.timeout > 0 {
		var over atomic.Bool
		p.mu.Lock()
		p.timeout = &over
		p.mu.Unlock()
		timer := time.AfterFunc(o.timeout, func() {
			over.Store(true)
			if f := p.fds[o.fd]; f != nil {
				if w, ok := f.file.(interface{ wakeReaders() }); ok {
					w.wakeReaders()
				}
			}
		})
		defer func() {
			timer.Stop()
			p.mu.Lock()
			p.timeout = nil
			p.mu.Unlock()
		}()
	}
	in := stream{p, o.fd}
	escape := false
	var b [1]byte
	for o.most < 0 || len(line) < o.most {
		if n, err := in.Read(b[:]); n == 0 || err != nil {
			return line, escaped, false
		}
		switch c := b[0]; {
		case escape:
			escape = false
			if c == '\n' {
				continue
			}
			if escaped == nil {
				escaped = map[int]bool{}
			}
			escaped[len(line)] = true
		case c == '\\' && !o.raw:
			escape = true
			continue
		case c == o.delim:
			return line, escaped, true
		case c == 0:
			continue
		}
		p.hold(1)
		line = append(line, b[0])
	}
	return line, escaped, true
}

// splitRead splits a line at IFS into at most n parts; -1 = all.
func (sh *shell) splitRead(line []byte, escaped map[int]bool, n int) (parts []string) {
	ifs := " \t\n"
	if v, ok := sh.lookup("IFS"); ok {
		ifs = v
	}
	is := func(i int, set string) bool { return !escaped[i] && strings.IndexByte(set, line[i]) >= 0 }
	space := ""
	for _, c := range " \t\n" {
		if strings.ContainsRune(ifs, c) {
			space += string(c)
		}
	}
	i, end := 0, len(line)
	for i < end && is(i, space) {
		i++
	}
	for end > i && is(end-1, space) {
		end--
	}
	for i < end {
		if n >= 0 && len(parts) == n-1 {
			return append(parts, string(line[i:end]))
		}
		from := i
		for i < end && !is(i, ifs) {
			i++
		}
		parts = append(parts, string(line[from:i]))
		for i < end && is(i, space) {
			i++
		}
		if i < end && is(i, ifs) && !is(i, space) {
			i++
			for i < end && is(i, space) {
				i++
			}
		}
	}
	return parts
}
