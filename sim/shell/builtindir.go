package shell

import (
	"strings"
	"syscall"
)

func builtinCd(sh *shell, args []string) flow {
	for len(args) > 1 && (args[1] == "-P" || args[1] == "-L" || args[1] == "--") {
		args = args[1:]
	}
	to, show := "", false
	switch {
	case len(args) < 2:
		var ok bool
		if to, ok = sh.variable("HOME"); !ok {
			return sh.fail("cd: HOME not set")
		}
	case args[1] == "-":
		to, _ = sh.variable("OLDPWD")
		if to == "" {
			return sh.fail("cd: OLDPWD not set")
		}
		show = true
	default:
		to = args[1]
	}
	dir := sh.p.dir
	if to != "" {
		dir = sh.p.clean(to)
	}
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
	if len(args) > 1 && strings.HasPrefix(args[1], "-") && args[1] != "-P" && args[1] != "-L" {
		return sh.fail("pwd: illegal option %s", args[1])
	}
	if len(args) > 1 && args[1] == "-P" {
		if at, err := sh.p.m.fs.existing(sh.p.cred, dir, true, false); err == nil {
			dir = at.path
		}
	}
	sh.p.print(dir + "\n")
	sh.status = 0
	return next
}
