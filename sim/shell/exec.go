package shell

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// flow says how execution goes on after a command.
type flow int

const (
	next flow = iota
	breakLoop
	continueLoop
	returnFunc
	exitShell
)

// maxLevels bounds nested commands, those of nested functions included.
const maxLevels = 2000

// run runs a script in the shell and returns its exit status; the EXIT trap is
// part of it.
func (sh *shell) run(stmts []*syntax.Stmt) int {
	sh.protect(func() flow { return sh.stmts(stmts) })
	sh.exitTrap()
	return sh.status
}

// protect runs code of the shell; a failed expansion in it exits the shell.
func (sh *shell) protect(code func() flow) flow {
	f, r := catch(code)
	if r == nil {
		return f
	}
	e, ok := r.(expandError)
	if !ok {
		panic(r) // once the stack is unwound: a panic on top of it takes long
	}
	sh.errorf("%s", e.msg)
	sh.failed = true
	sh.status = 2
	if sh.bash {
		sh.status = 1
	}
	return exitShell
}

func catch(code func() flow) (f flow, r any) {
	defer func() { r = recover() }()
	return code(), nil
}

func (sh *shell) stmts(list []*syntax.Stmt) flow {
	for _, st := range list {
		if f := sh.stmt(st); f != next {
			return f
		}
	}
	return next
}

func (sh *shell) stmt(st *syntax.Stmt) flow {
	sh.p.step(1)
	if sh.opt.noexec && !sh.interactive {
		return next
	}
	p := sh.p
	p.level++
	defer func() { p.level-- }()
	if p.level > p.high {
		p.hold((p.level - p.high) * levelCost)
		p.high = p.level
	}
	if p.level > maxLevels {
		sh.errorf("nested too deeply: more than %d commands in each other", maxLevels)
		panic(abort{139})
	}
	if st.Coprocess || st.Disown {
		failExpansion("coprocesses are not simulated")
	}
	if st.Background {
		sh.background(st)
		return next
	}
	if f := sh.foreground(st); f != next {
		return f
	}
	return sh.runTraps()
}

// foreground runs a statement that is not in the background.
func (sh *shell) foreground(st *syntax.Stmt) flow {
	sh.tested = false
	if st.Negated {
		sh.conditions++
	}
	f := sh.redirected(st.Redirs, func() flow {
		if st.Cmd == nil {
			sh.status = 0
			return next
		}
		return sh.command(st.Cmd)
	})
	if st.Negated {
		sh.conditions--
		sh.status = int(truth(sh.status == 0))
		sh.tested = true
	}
	if f == next && sh.status != 0 && !sh.tested && sh.conditions == 0 {
		if trap := sh.traps["ERR"]; trap != "" && !sh.inTrap {
			f = sh.runTrap(trap)
		}
		if sh.opt.errexit {
			return exitShell
		}
	}
	return f
}

// condition runs commands whose failure errexit ignores.
func (sh *shell) condition(list []*syntax.Stmt) flow {
	sh.conditions++
	defer func() { sh.conditions-- }()
	return sh.stmts(list)
}

func (sh *shell) command(cmd syntax.Command) flow {
	f := sh.commandOf(cmd)
	switch cmd.(type) {
	case *syntax.CallExpr, *syntax.Subshell, *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause, *syntax.DeclClause:
		sh.pipeStatus = nil // it is a pipeline of its own
	}
	return f
}

func (sh *shell) commandOf(cmd syntax.Command) flow {
	switch cmd := cmd.(type) {
	case *syntax.CallExpr:
		return sh.simple(cmd)
	case *syntax.Block:
		return sh.stmts(cmd.Stmts)
	case *syntax.Subshell:
		sh.status = sh.subshell(nil, func(c *shell) { c.run(cmd.Stmts) })
	case *syntax.BinaryCmd:
		return sh.binaryCommand(cmd)
	case *syntax.IfClause:
		return sh.ifClause(cmd)
	case *syntax.WhileClause:
		return sh.while(cmd)
	case *syntax.ForClause:
		return sh.forClause(cmd)
	case *syntax.CaseClause:
		return sh.caseClause(cmd)
	case *syntax.FuncDecl:
		sh.declare(cmd)
	case *syntax.ArithmCmd:
		sh.status = int(truth(sh.arithm(cmd.X) == 0))
	case *syntax.LetClause:
		for _, x := range cmd.Exprs {
			sh.status = int(truth(sh.arithm(x) == 0))
		}
	case *syntax.TestClause:
		sh.status = int(truth(!sh.testClause(cmd.X)))
	case *syntax.DeclClause:
		return sh.declClause(cmd)
	case *syntax.TimeClause:
		return sh.timeClause(cmd)
	default:
		failExpansion("%s is not simulated", strings.TrimPrefix(fmt.Sprintf("%T", cmd), "*syntax."))
	}
	return next
}

// subshell runs code in a copy of the shell, in the same process, and returns
// its status. out replaces the standard output unless it is nil.
func (sh *shell) subshell(out *ofile, code func(*shell)) int {
	p := sh.p
	defer p.enter()()
	defer p.saveTraps()()
	saved, dir := p.fds, p.dir
	p.fds = saved.dup()
	if out != nil {
		p.fds.set(p.m, 1, out.dup())
	}
	defer func() {
		p.fds.closeAll(p.m)
		p.fds, p.dir = saved, dir
	}()
	c := sh.fork(p)
	defer c.drop()
	code(c)
	return c.status
}

// substitute runs a command substitution and returns its output.
func (sh *shell) substitute(cs *syntax.CmdSubst) string {
	if len(cs.Stmts) == 0 {
		sh.substatus = 0
		return ""
	}
	out := &capture{}
	file := sh.p.m.newFile(out)
	defer file.release(sh.p.m)
	sh.substatus = sh.subshell(file, func(c *shell) {
		if name := onlyRedirect(cs.Stmts); name != nil {
			c.protect(func() flow { c.copyFile(c.text(name)); return next })
			return
		}
		c.conditions = 0
		c.run(cs.Stmts)
	})
	data := out.take()
	defer sh.p.hold(-len(data))
	return strings.ReplaceAll(strings.TrimRight(string(data), "\n"), "\x00", "")
}

// onlyRedirect returns the name of the file in $(<file).
func onlyRedirect(list []*syntax.Stmt) *syntax.Word {
	if len(list) != 1 || list[0].Cmd != nil || len(list[0].Redirs) != 1 || list[0].Redirs[0].Op != syntax.RdrIn {
		return nil
	}
	return list[0].Redirs[0].Word
}

func (sh *shell) copyFile(name string) {
	o, err := sh.p.open(name, syscall.O_RDONLY, 0)
	if err != nil {
		sh.errorf("can't open %s: %s", name, errText(err))
		sh.status = 1
		return
	}
	sh.p.fds.set(sh.p.m, 0, o)
	sh.status = 0
	if err := copyStream(sh.p, 1, 0); err != nil {
		sh.errorf("%s: %s", name, errText(err))
		sh.status = 1
	}
}

func (sh *shell) binaryCommand(cmd *syntax.BinaryCmd) flow {
	switch cmd.Op {
	case syntax.Pipe, syntax.PipeAll:
		sh.pipeline(cmd)
		return next
	case syntax.AndStmt, syntax.OrStmt:
		if f := sh.condition([]*syntax.Stmt{cmd.X}); f != next {
			return f
		}
		if (sh.status == 0) == (cmd.Op == syntax.AndStmt) {
			return sh.stmt(cmd.Y)
		}
		sh.tested = true
		return next
	}
	failExpansion("%s is not simulated", cmd.Op)
	return next
}

// declare defines a function.
func (sh *shell) declare(cmd *syntax.FuncDecl) {
	if cmd.Name == nil {
		failExpansion("a function needs a name")
	}
	name := cmd.Name.Value
	size := 512 + parseCost*int(cmd.Body.End().Offset()-cmd.Body.Pos().Offset())
	sh.hold(size - sh.funcs[name].size)
	if sh.funcs == nil {
		sh.funcs = map[string]function{}
	}
	sh.funcs[name] = function{body: cmd.Body, size: size}
	sh.status = 0
}

func (sh *shell) timeClause(cmd *syntax.TimeClause) flow {
	start := time.Now()
	f := next
	if cmd.Stmt != nil {
		f = sh.stmt(cmd.Stmt)
	}
	took := time.Since(start).Seconds()
	sh.p.errorf("real\t%dm%.2fs\nuser\t0m0.00s\nsys\t0m0.00s", int(took)/60, took-float64(int(took)/60*60))
	return f
}

// simple runs a simple command.
func (sh *shell) simple(cmd *syntax.CallExpr) flow {
	sh.substatus = 0
	args := sh.fields(cmd.Args)
	if len(args) == 0 {
		for _, as := range cmd.Assigns {
			sh.assign(as)
		}
		sh.status = sh.substatus
		return next
	}
	size := paramsSize(args)
	sh.p.hold(size)
	defer sh.p.hold(-size)
	if alias, ok := sh.aliases[args[0]]; ok && !sh.expanding[args[0]] && cmd.Args[0].Lit() == args[0] {
		return sh.runAlias(args[0], alias, args[1:])
	}
	restore := sh.assignTemporarily(cmd.Assigns)
	sh.trace(args)
	last := sh.last
	sh.last = false
	f := sh.call(args, last)
	sh.tested = false // that of a function, eval or a file is not the one of this command
	restore()
	return f
}

func (sh *shell) trace(args []string) {
	if !sh.opt.xtrace {
		return
	}
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = quote(arg)
	}
	ps4, _ := sh.variable("PS4")
	sh.p.errorf("%s%s", ps4, strings.Join(quoted, " "))
}

// errNotFound is the error of a program that does not exist.
var errNotFound = errors.New("not found")
