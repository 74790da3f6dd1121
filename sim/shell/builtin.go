package shell

import (
	"strconv"
	"strings"

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
		":": status(0), "true": status(0), "false": status(1), "bg": status(0),
		"exit": builtinExit, "return": builtinReturn, "break": builtinBreak, "continue": builtinBreak,
		"cd": builtinCd, "pwd": builtinPwd, "echo": ofProgram(echo), "printf": ofProgram(printf), "test": ofProgram(test), "[": ofProgram(test),
		"export": builtinDeclare, "readonly": builtinDeclare, "local": builtinDeclare, "declare": builtinDeclare, "typeset": builtinDeclare,
		"unset": builtinUnset, "set": builtinSet, "shift": builtinShift, "eval": builtinEval, ".": builtinSource, "source": builtinSource,
		"exec": builtinExec, "trap": builtinTrap, "wait": builtinWait, "fg": builtinWait, "kill": builtinKill, "read": builtinRead,
		"type": builtinType, "command": builtinCommand, "builtin": builtinCommand, "alias": builtinAlias, "unalias": builtinUnalias,
		"umask": builtinUmask, "getopts": builtinGetopts, "jobs": builtinJobs, "times": builtinTimes, "ulimit": builtinUlimit,
		"let": builtinLet, "shopt": builtinShopt, "hash": builtinHash,
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

func ofProgram(run program) builtin {
	return func(sh *shell, args []string) flow {
		sh.status = run(sh.p, args)
		return next
	}
}

// fail reports an error of a builtin.
func (sh *shell) fail(format string, args ...any) flow {
	sh.errorf(format, args...)
	sh.status = 1
	return next
}

// numberArg parses the optional first argument of a builtin.
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
	status := sh.status
	if sh.trapStatus != nil {
		status = *sh.trapStatus
	}
	if n, ok := sh.numberArg(args, status); ok {
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

func builtinUlimit(sh *shell, args []string) flow {
	sh.status = 0
	if last := args[len(args)-1]; len(args) == 1 || strings.HasPrefix(last, "-") {
		sh.p.print("unlimited\n")
	}
	return next
}
