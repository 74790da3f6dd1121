package shell

import "strings"

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
	outer := sh.source
	sh.source = name
	defer func() { sh.source = outer }()
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
	run, status, err := sh.p.loadProgram(args, sh.path())
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
