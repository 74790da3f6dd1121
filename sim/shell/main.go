package shell

import (
	"io"
	"path"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/syntax"
)

// runShell is the program sh, in all its names.
func runShell(p *proc, args []string) int {
	defer p.enter()()
	sh := newShell(p, args[0])
	defer sh.drop()
	sh.bash = path.Base(args[0]) == "bash"
	if v, ok := sh.vars["SECONDS"]; ok && sh.bash {
		sh.set("SECONDS", v.str) // of the environment
	}
	o, rest, ok := sh.parseOptions(args[1:])
	if !ok {
		return 2
	}
	switch {
	case o.inline:
		if len(rest) == 0 {
			sh.errorf("-c requires an argument")
			return 2
		}
		if len(rest) > 1 {
			sh.name, sh.params = rest[1], rest[2:]
		}
		return sh.runSource(rest[0])
	case len(rest) > 0:
		src, err := p.readScript(rest[0])
		if err != nil {
			sh.errorf("can't open '%s': %s", rest[0], errText(err))
			return 2
		}
		sh.name, sh.source, sh.params = rest[0], rest[0], rest[1:]
		return sh.runSource(src)
	}
	sh.interactive = o.interactive || p.isTerminal(0)
	if sh.interactive && p.m.tty != nil {
		defer p.m.tty.onInterrupt(p.m.tty.discard)()
	}
	return sh.runLines()
}

// startOptions are the options of the program sh that "set" does not have.
type startOptions struct{ inline, interactive bool } // -c and -i

// parseOptions sets the options of the shell and returns the operands.
func (sh *shell) parseOptions(args []string) (o startOptions, rest []string, ok bool) {
	for rest = args; len(rest) > 0 && isOption(rest[0]); {
		arg := rest[0]
		rest = rest[1:]
		if arg == "--" {
			break
		}
		if strings.HasPrefix(arg, "--") && sh.bash {
			continue // options of bash such as --login
		}
		on := arg[0] == '-'
		for _, flag := range []byte(arg[1:]) {
			switch flag {
			case 'c':
				o.inline = true
			case 'i':
				o.interactive = true
			case 's', 'l':
			case 'o':
				if len(rest) == 0 || !sh.setOption(0, rest[0], on) {
					return o, nil, false
				}
				rest = rest[1:]
			default:
				if !sh.setOption(flag, "", on) {
					return o, nil, false
				}
			}
		}
	}
	return o, rest, true
}

// runSource parses and runs a whole script.
func (sh *shell) runSource(src string) int {
	sh.hold(parseCost * len(src))
	file, err := parse(src)
	if err != nil {
		sh.errorf("%s", syntaxError(err))
		return 2
	}
	return sh.run(file.Stmts)
}

// runLines runs a script from the standard input: each command as soon as it is
// complete, as the commands may read the rest. An interactive shell prompts, and
// goes on after a syntax error.
func (sh *shell) runLines() int {
	in := lineInput{sh: sh}
	defer in.release()
	for !in.ended {
		exited, err := sh.runInput(&in)
		if exited {
			break
		}
		if err != nil {
			sh.errorf("%s", syntaxError(err))
			sh.status = 2
			if !sh.interactive {
				return 2
			}
		}
	}
	sh.exitTrap()
	return sh.status
}

// runInput runs commands until the shell exits, the input ends, or there is a syntax error.
func (sh *shell) runInput(in *lineInput) (exited bool, err error) {
	in.begin()
	parser := newParser()
	for stmts, parseErr := range parser.InteractiveSeq(in) {
		switch {
		case err != nil: // the parser repeats its error; the loop must not end before it does
		case parseErr != nil:
			err = parseErr
		case parser.Incomplete():
			in.prompt = "PS2"
		default:
			in.release()
			in.prompt = "PS1"
			if sh.runLine(stmts) == exitShell {
				return true, nil
			}
		}
	}
	return false, err
}

// runLine runs the commands of one line.
func (sh *shell) runLine(stmts []*syntax.Stmt) (f flow) {
	sh.failed = false
	if sh.interactive && sh.p.m.tty != nil {
		f = sh.runAtTerminal(stmts)
	} else {
		f = sh.runProtected(stmts)
	}
	if f == exitShell && sh.interactive && sh.failed {
		f = next
	}
	return f
}

func (sh *shell) runProtected(stmts []*syntax.Stmt) flow {
	return sh.protect(func() flow { return sh.stmts(stmts) })
}

// runAtTerminal runs the commands of one line of an interactive shell: as far as ^C is concerned they are a
// process of their own.
func (sh *shell) runAtTerminal(stmts []*syntax.Stmt) (f flow) {
	shellProc := sh.p
	p, err := shellProc.m.newProc(shellProc.ctx, shellProc, shellProc.args)
	if err != nil {
		sh.errorf("can't fork: %s", errText(err))
		return next
	}
	p.level, p.fds = shellProc.level, shellProc.fds.dup()
	p.standIn(shellProc)
	restore := shellProc.m.tty.onInterrupt(func() { p.cancel(killed(syscall.SIGINT)) })
	sh.p = p
	outer := sh.frame
	ended := true
	status := p.guard(func() int {
		f = sh.runProtected(stmts)
		ended = false
		return sh.status
	})
	restore()
	sh.p = shellProc
	shellProc.since = p.since
	if ended { // by ^C, which leaves functions and loops; what the line has set remains
		sh.frame = outer
		shellProc.m.tty.newline()
		sh.status = status
		f = next
	}
	shellProc.dir, shellProc.cred = p.dir, p.cred
	p.leave(shellProc)
	fds := p.fds.dup() // exec may have changed them
	shellProc.fds.closeAll(shellProc.m)
	shellProc.fds = fds
	p.end()
	shellProc.abortIfDone()
	return f
}

// lineInput reads the lines of a script from the standard input, for the parser.
type lineInput struct {
	sh     *shell
	prompt string
	guard  *guardedReader // the rest of the line
	size   int            // of the command so far
	ended  bool
}

// begin prepares for a new parser.
func (in *lineInput) begin() {
	in.release()
	in.guard, in.prompt = guard(""), "PS1"
}

// release frees what the command counts in memory.
func (in *lineInput) release() {
	in.sh.p.hold(-parseCost * in.size)
	in.size = 0
}

// Read implements [io.Reader]. It reads one line. Newlines follow the last one, which may end
// with a backslash: the parser hands out commands at the end of a line only.
func (in *lineInput) Read(b []byte) (int, error) {
	if in.guard.src == "" && !in.ended {
		line, ok := in.line(in.prompt)
		if !ok {
			in.ended, line = true, "\n\n"
		}
		in.sh.p.step(1 + len(line)/16)
		in.sh.p.hold(parseCost * len(line))
		in.size += len(line)
		if in.size > maxScript {
			return 0, errTooLong
		}
		in.guard.src = line
	}
	return in.guard.Read(b)
}

// line prompts and reads a line, with its newline.
func (in *lineInput) line(prompt string) (string, bool) {
	sh := in.sh
	if sh.interactive {
		ps, _ := sh.variable(prompt)
		_, _ = io.WriteString(stream{sh.p, 2}, sh.expandPrompt(ps))
	}
	var line []byte
	defer func() { sh.p.hold(-len(line)) }()
	var b [1]byte
	for {
		n, err := sh.p.stdin().Read(b[:])
		if n == 0 || err != nil {
			return string(line), len(line) > 0
		}
		sh.p.hold(1)
		line = append(line, b[0])
		if b[0] == '\n' {
			return string(line), true
		}
	}
}

// expandPrompt expands the escapes of a prompt.
func (sh *shell) expandPrompt(ps string) string {
	home, _ := sh.variable("HOME")
	dir := sh.p.dir
	if home != "" && home != "/" && (dir == home || strings.HasPrefix(dir, home+"/")) {
		dir = "~" + strings.TrimPrefix(dir, home)
	}
	sign := "#"
	name := "root"
	if sh.p.cred.uid != 0 {
		sign = "$"
		name = "user"
	}
	return strings.NewReplacer(`\w`, dir, `\W`, path.Base(dir), `\$`, sign, `\h`, sh.p.m.cfg.Hostname, `\H`, sh.p.m.cfg.Hostname, `\u`, name, `\n`, "\n", `\[`, "", `\]`, "").Replace(ps)
}
