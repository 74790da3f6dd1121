package shell

// eval parses and runs a string.
func (sh *shell) eval(src string) flow {
	defer sh.p.enter()()
	sh.p.step(1 + len(src)/16)
	sh.p.hold(parseCost * len(src))
	defer sh.p.hold(-parseCost * len(src))
	file, err := parse(src)
	if err != nil {
		failExpansion("%s", syntaxError(err))
	}
	if len(file.Stmts) == 0 {
		sh.status = 0
	}
	return sh.stmts(file.Stmts)
}

// call runs a function, a builtin or a program.
func (sh *shell) call(args []string, last bool) flow {
	if fn, ok := sh.funcs[args[0]]; ok && !specialBuiltins[args[0]] {
		return sh.callFunction(fn, args)
	}
	if builtin, ok := builtins()[args[0]]; ok {
		return builtin(sh, args)
	}
	if last {
		return sh.replaceBy(args, "")
	}
	sh.status = sh.program(args)
	return next
}

func (sh *shell) callFunction(fn function, args []string) flow {
	defer sh.p.enter()()
	sh.p.step(4)
	params, loops := sh.params, sh.loops
	sh.params, sh.loops = args[1:], 0
	sh.inFunc++
	sh.locals = append(sh.locals, nil)
	defer func() {
		hidden := sh.locals[len(sh.locals)-1]
		sh.locals = sh.locals[:len(sh.locals)-1]
		for name, v := range hidden {
			sh.restoreLocal(name, v)
		}
		sh.inFunc--
		sh.params, sh.loops = params, loops
	}()
	f := sh.stmt(fn.body)
	if f == returnFunc {
		f = next
	}
	return f
}

// restoreLocal brings back what a local variable hid.
func (sh *shell) restoreLocal(name string, v variable) {
	if now, ok := sh.vars[name]; ok {
		now.readonly = false
		sh.vars[name] = now
	}
	if v.set || v.exported || v.readonly {
		sh.setVar(name, v)
	} else {
		sh.unset(name)
	}
}

// program runs a program in the foreground and returns its status.
func (sh *shell) program(args []string) int {
	run, status, err := sh.p.loadProgram(args, sh.path())
	if err != nil {
		sh.errorf("%s", err)
		return status
	}
	c, err := sh.p.m.newProc(sh.p.ctx, sh.p, args)
	if err != nil {
		sh.errorf("can't fork: %s", errText(err))
		return 2
	}
	c.env = sh.environ()
	size := totalLen(c.env)
	sh.p.hold(size)
	defer sh.p.hold(-size)
	return sh.p.runForeground(c, run, args)
}

// runForeground runs the code of a child with the open files of the process, and returns its status.
func (p *proc) runForeground(c *proc, run program, args []string) int {
	c.fds = p.fds.dup()
	c.level = p.level
	status := c.finish(func() int { return run(c, args) })
	p.since = c.since
	p.abortIfDone()
	return status
}

// path returns where programs are looked for.
func (sh *shell) path() string {
	path, _ := sh.variable("PATH")
	return path
}

// finish runs the code of a process, ends the process and returns its status.
func (p *proc) finish(code func() int) int {
	defer p.end()
	return p.guard(code)
}

// child runs another program in the foreground and returns its status, 127 or
// 126 if it cannot be started.
func (p *proc) child(args []string) int { return p.childWith(args, func(*proc) {}) }

// childWith is child, with a function that gets the process before it runs.
func (p *proc) childWith(args []string, started func(*proc)) int {
	defer p.enter()()
	run, status, err := p.loadProgram(args, p.getenv("PATH"))
	if err != nil {
		p.fail("%v", err)
		return status
	}
	c, err := p.m.newProc(p.ctx, p, args)
	if err != nil {
		p.fail("can't fork: %s", errText(err))
		return 1
	}
	started(c)
	return p.runForeground(c, run, args)
}
