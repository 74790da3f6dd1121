package shell

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"

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
