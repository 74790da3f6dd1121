package shell

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// variable is a shell variable. One that is exported or read-only may be unset.
type variable struct {
	str                            string
	list                           []string
	array, set, exported, readonly bool
}

func (v variable) size() int { return len(v.str) + totalLen(v.list)*2 + 64 }

// function is a shell function and what it counts in memory.
type function struct {
	body *syntax.Stmt
	size int
}

// options are the options of set.
type options struct {
	errexit, nounset, noglob, xtrace, verbose, noexec, allexport, noclobber, pipefail, monitor bool
}

var optionTable = []struct {
	flag  byte
	name  string
	field func(*options) *bool
}{
	{'e', "errexit", func(o *options) *bool { return &o.errexit }},
	{'u', "nounset", func(o *options) *bool { return &o.nounset }},
	{'f', "noglob", func(o *options) *bool { return &o.noglob }},
	{'x', "xtrace", func(o *options) *bool { return &o.xtrace }},
	{'v', "verbose", func(o *options) *bool { return &o.verbose }},
	{'n', "noexec", func(o *options) *bool { return &o.noexec }},
	{'a', "allexport", func(o *options) *bool { return &o.allexport }},
	{'C', "noclobber", func(o *options) *bool { return &o.noclobber }},
	{'m', "monitor", func(o *options) *bool { return &o.monitor }},
	{0, "pipefail", func(o *options) *bool { return &o.pipefail }},
}

// shell is the state of a shell or a subshell.
type shell struct {
	frame
	p           *proc
	pid         int    // $$
	name        string // $0
	bash        bool   // braces are expanded, and what bash does differently
	interactive bool
	opt         options
	shopts      []string  // options of shopt that are set
	source      string    // the file that runs, of bash
	started     time.Time // SECONDS of bash counts from here
	vars        map[string]variable
	funcs       map[string]function
	aliases     map[string]string
	expanding   map[string]bool // aliases
	paramsHeld  int             // memory that params count
	held        int             // memory that variables, functions and params count

	status     int   // $?
	pipeStatus []int // of the elements of the pipeline that ran last, nil if a command ran since
	substatus  int   // of the last command substitution
	tested     bool
	levels     int // loops that break or continue still has to leave
	keepRedirs bool
	last       bool // the next command is all that the shell is for: a program takes its place
	failed     bool // an expansion failed
	lastJob    int
	jobs       []*job
	jobEnded   chan struct{} // one of jobs has ended
	outerJobs  []*job        // of the shell that this one is a subshell of: $(jobs -p) lists them
	traps      map[string]string
	getopts    getoptsState
}

// frame is what functions, loops, conditions and traps change while they run.
type frame struct {
	locals     []map[string]variable // what local hides, per running function
	params     []string
	conditions int // nested conditions, in which errexit does nothing
	loops      int // nested loops
	inFunc     int
	inTrap     bool
	trapStatus *int // $? when the trap began that runs: what exit in it exits with
}

// newShell makes a shell from the environment of its process.
func newShell(p *proc, name string) *shell {
	sh := &shell{p: p, pid: p.pid, name: name, vars: map[string]variable{}, started: p.start}
	sh.setShellVar("IFS", " \t\n")
	sh.setShellVar("OPTIND", "1")
	sh.setShellVar("PS1", `\w \$ `)
	sh.setShellVar("PS2", "> ")
	sh.setShellVar("PS4", "+ ")
	for _, kv := range p.env {
		// A script cannot refer to a name such as "data-1", but the programs that it runs
		// receive it, as from busybox.
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			sh.setVar(name, variable{str: value, set: true, exported: true})
		}
	}
	sh.setVar("PWD", variable{str: p.dir, set: true, exported: true})
	level, _ := strconv.Atoi(sh.vars["SHLVL"].str)
	sh.setVar("SHLVL", variable{str: strconv.Itoa(level + 1), set: true, exported: true})
	p.mu.Lock()
	p.wake = make(chan struct{}, 1)
	p.mu.Unlock()
	return sh
}

// fork returns a copy for a subshell that runs in process p.
func (sh *shell) fork(p *proc) *shell {
	c := &shell{
		p: p, pid: sh.pid, name: sh.name, bash: sh.bash, opt: sh.opt, vars: maps.Clone(sh.vars), funcs: maps.Clone(sh.funcs),
		aliases: maps.Clone(sh.aliases), frame: frame{params: sh.params, conditions: sh.conditions, inFunc: sh.inFunc},
		paramsHeld: sh.paramsHeld, held: sh.held, status: sh.status,
		lastJob: sh.lastJob, getopts: sh.getopts, shopts: sh.shopts, source: sh.source, started: sh.started, pipeStatus: sh.pipeStatus,
		outerJobs: sh.jobs,
	}
	if len(sh.jobs) == 0 {
		c.outerJobs = sh.outerJobs
	}
	if sh.inFunc > 0 {
		c.locals = []map[string]variable{nil} // what it hides ends with the subshell
	}
	p.mu.Lock()
	if p.wake == nil {
		p.wake = make(chan struct{}, 1)
	}
	p.mu.Unlock()
	p.hold(c.held)
	p.step(len(c.vars) / 4)
	return c
}

// drop frees what a shell holds.
func (sh *shell) drop() {
	sh.p.hold(-sh.held)
	sh.held = 0
}

func (sh *shell) hold(n int) {
	sh.held += n
	sh.p.hold(n)
}

// variable returns the value of a variable and whether it is set.
func (sh *shell) variable(name string) (string, bool) {
	v, ok := sh.vars[name]
	if !ok || !v.set {
		return sh.dynamic(name)
	}
	if v.array {
		if len(v.list) == 0 {
			return "", false
		}
		return v.list[0], true
	}
	return v.str, true
}

// setVar replaces a variable.
func (sh *shell) setVar(name string, v variable) {
	n := v.size() + len(name)
	if old, ok := sh.vars[name]; ok {
		n -= old.size() + len(name)
	}
	sh.hold(n)
	sh.vars[name] = v
}

func (sh *shell) setShellVar(name, s string) { sh.setVar(name, variable{str: s, set: true}) }

// set assigns a string to a variable.
func (sh *shell) set(name, s string) {
	v := sh.vars[name]
	sh.checkWritable(name)
	if v.array {
		sh.setIndex(name, 0, s, false)
		return
	}
	v.str, v.set = s, true
	if sh.bash && name == "SECONDS" {
		sh.setSeconds(s)
		v.str, v.set = "", false // it is computed, but keeps its attributes
	}
	v.exported = v.exported || sh.opt.allexport
	sh.setVar(name, v)
	if name == "OPTIND" {
		sh.getopts.offset = 0
	}
}

// setSeconds makes SECONDS of bash count from a number.
func (sh *shell) setSeconds(s string) {
	n, _ := strconv.Atoi(s)
	sh.started = time.Now().Add(-time.Duration(n) * time.Second)
}

func (sh *shell) checkWritable(name string) {
	if sh.vars[name].readonly {
		failExpansion("%s: is read only", name)
	}
}

// mostElements bounds the indexes of an array.
const mostElements = 64 << 10

// setIndex assigns to an element of an array.
func (sh *shell) setIndex(name string, index int64, s string, appended bool) {
	sh.checkWritable(name)
	v := sh.vars[name]
	if !v.array {
		v.array = true
		v.list = nil
		if v.set {
			v.list = []string{v.str}
		}
		v.str = ""
	}
	if index < 0 {
		index += int64(len(v.list))
	}
	if index < 0 || index >= mostElements {
		failExpansion("%s[%d]: bad array subscript", name, index)
	}
	sh.p.step(1 + len(v.list)/64)
	list := slices.Clone(v.list)
	for int64(len(list)) <= index {
		list = append(list, "")
	}
	if appended {
		s = list[index] + s
	}
	list[index] = s
	v.list, v.set = list, true
	sh.setVar(name, v)
}

func (sh *shell) unset(name string) {
	sh.checkWritable(name)
	if v, ok := sh.vars[name]; ok {
		sh.hold(-v.size() - len(name))
		delete(sh.vars, name)
	}
}

// environ returns the exported variables.
func (sh *shell) environ() []string {
	env := make([]string, 0, len(sh.vars))
	for name, v := range sh.vars {
		if !v.exported {
			continue
		}
		if s, ok := sh.variable(name); ok || v.set {
			env = append(env, name+"="+s)
		}
	}
	slices.Sort(env)
	sh.p.step(len(env) + totalLen(env)/256)
	return env
}

// matchPattern matches a pattern of case or [[.
func (sh *shell) matchPattern(pattern, s string) bool { return sh.p.match(pattern, s) }

// errorf reports an error of the shell.
func (sh *shell) errorf(format string, args ...any) {
	sh.p.errorf(sh.name+": "+format, args...)
}
