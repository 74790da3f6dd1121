package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// maxHeld bounds what all commands of the process hold in memory together.
const maxHeld = 512 << 20

// held counts what all commands hold.
var held atomic.Int64

// machine is the state of one Run.
type machine struct {
	cfg    Config
	fs     *FS
	lim    Limits
	cred   *cred
	table  *Processes
	ctx    context.Context
	cancel context.CancelCauseFunc
	tty    *terminal
	out    outerWriter // of the caller
	errOut outerWriter

	mem    atomic.Int64
	steps  atomic.Int64
	files  atomic.Int64
	procs  atomic.Int64
	oom    atomic.Bool
	cpu    pacer
	output *bucket
	wg     sync.WaitGroup

	waited    sync.Once   // OnWait was called
	jobWaits  atomic.Bool // a job in the background has waited
	awaitsJob atomic.Bool // the command has waited for a job
}

// killed is the cause of a canceled process context.
type killed syscall.Signal

// Error implements error.
func (k killed) Error() string { return fmt.Sprintf("killed by signal %d", int(k)) }

// abort is the panic that ends a process from within.
type abort struct{ code int }

// kill ends everything, as SIGKILL does.
func (m *machine) kill() { m.cancel(killed(syscall.SIGKILL)) }

// Processes is the process table of a container.
type Processes struct {
	mu   sync.Mutex
	last int
	all  map[int]*proc
	init *initProcess
}

// initProcess is a PID 1 that the engine does not run.
type initProcess struct {
	name   string
	user   int
	signal func(syscall.Signal)
}

// SetInit makes PID 1 a process that the engine does not run. signal gets the signals
// that would end it; it must not block. It is called before anything runs.
func (t *Processes) SetInit(name string, user int, signal func(syscall.Signal)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.init, t.last = &initProcess{name, user, signal}, 1
}

// outside returns the PID 1 that the engine does not run, nil if it runs it.
func (t *Processes) outside() *initProcess {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.init
}

// NewProcesses returns an empty process table.
func NewProcesses() *Processes { return &Processes{all: map[int]*proc{}} }

// add gives a process an ID.
func (t *Processes) add(p *proc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	p.pid = t.last
	t.all[p.pid] = p
}

func (t *Processes) remove(p *proc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, p.pid)
}

func (t *Processes) find(pid int) *proc {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[pid]
}

// list returns the processes by ID.
func (t *Processes) list() []*proc {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := slices.Collect(maps.Values(t.all))
	slices.SortFunc(list, func(a, b *proc) int { return a.pid - b.pid })
	return list
}

// proc is a process: a shell, a background job, an element of a pipeline, or a
// program. Each runs in one goroutine.
type proc struct {
	m      *machine
	pid    int
	parent int
	args   []string
	start  time.Time
	ctx    context.Context
	cancel context.CancelCauseFunc
	dir    string
	env    []string // exported variables; a shell makes it when it starts a program
	fds    fds
	cred   *cred
	depth  int
	level  int // of nested commands
	high   int // highest level so far
	// budget and since are for pacing.
	budget int
	since  time.Time

	isJob  bool        // it runs in the background
	hidden atomic.Bool // it is the same as its parent for those who list processes

	mu      sync.Mutex
	trapped signalSet
	ignored signalSet
	pending signalSet
	timeout *atomic.Bool  // of a read, set when it took too long
	line    *proc         // of an interactive shell: the process of the line that runs
	wake    chan struct{} // of a shell: a trapped signal is pending
}

// signalSet has a bit for each signal.
type signalSet uint64

func (s signalSet) has(sig syscall.Signal) bool { return s&(1<<uint(sig)) != 0 }

// newProc makes a process that is a child of another one, which is nil for the
// first.
func (m *machine) newProc(ctx context.Context, parent *proc, args []string) (*proc, error) {
	if m.procs.Add(1) > int64(m.lim.Processes) {
		m.procs.Add(-1)
		return nil, syscall.EAGAIN
	}
	if m.count(procCost) {
		m.count(-procCost)
		m.procs.Add(-1)
		return nil, syscall.ENOMEM
	}
	p := &proc{m: m, args: args, start: time.Now(), cred: m.cred, dir: "/"}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	if parent != nil {
		p.parent, p.dir, p.env, p.depth, p.since, p.cred = parent.pid, parent.dir, parent.env, parent.depth, parent.since, parent.cred
		p.isJob = parent.isJob
		parent.mu.Lock()
		p.ignored = parent.ignored
		parent.mu.Unlock()
	}
	m.table.add(p)
	return p, nil
}

// end closes what a process has open and forgets it.
func (p *proc) end() {
	p.fds.closeAll(p.m)
	p.m.count(-procCost - p.high*levelCost)
	p.m.table.remove(p)
	p.m.procs.Add(-1)
	p.cancel(nil)
}

// signal delivers a signal.
func (p *proc) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case sig == 0:
	case p.line != nil && sig != syscall.SIGKILL:
		p.line.signal(sig)
	case sig == syscall.SIGKILL:
		p.cancel(killed(sig))
	case p.trapped.has(sig):
		p.pending |= 1 << uint(sig)
		select {
		case p.wake <- struct{}{}:
		default:
		}
	case p.ignored.has(sig), harmless.has(sig):
	default:
		p.cancel(killed(sig))
	}
}

// standIn makes a process, that of a line, handle the signals of an interactive
// shell until leave is called. Those who list processes do not see it.
func (p *proc) standIn(shell *proc) {
	p.hidden.Store(true)
	shell.mu.Lock()
	defer shell.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trapped, p.ignored, p.pending, p.wake = shell.trapped, shell.ignored, shell.pending, shell.wake
	shell.line = p
}

func (p *proc) leave(shell *proc) {
	shell.mu.Lock()
	defer shell.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	shell.trapped, shell.ignored, shell.pending = p.trapped, p.ignored, p.pending
	shell.line = nil
}

// abortIfDone ends the process if it was killed.
func (p *proc) abortIfDone() {
	if p.ctx.Err() == nil {
		return
	}
	code := 137
	if k, ok := errors.AsType[killed](context.Cause(p.ctx)); ok {
		code = 128 + int(k)
	}
	panic(abort{code})
}

// hold counts memory that the process needs; if there is not enough, the whole
// command ends, as the kernel does with a container that exceeds its limit.
func (p *proc) hold(n int) {
	if n != 0 && p.m.count(n) {
		p.m.oom.Store(true)
		p.m.kill()
		panic(abort{137})
	}
}

// count counts memory. It reports whether there is not enough of what was added.
func (m *machine) count(n int) (over bool) {
	all, total := m.mem.Add(int64(n)), held.Add(int64(n))
	return n > 0 && (all > m.lim.Memory || total > maxHeld)
}

// procCost is what a process costs in memory, its stack included.
const procCost = 8 << 10

// levelCost is what a nested command costs in memory, mostly stack.
const levelCost = 2 << 10

// depthCost is what a level of nesting costs in memory: mostly stack.
const depthCost = 8 << 10

// enter counts a level of nesting and returns a function that leaves it. Too
// deep nesting ends the process: the stack of the host must not overflow.
func (p *proc) enter() (leave func()) {
	if p.depth >= p.m.lim.Depth {
		p.errorf("sh: nested too deeply: more than %d functions, subshells or scripts in each other", p.m.lim.Depth)
		panic(abort{139})
	}
	p.depth++
	p.hold(depthCost)
	return func() {
		p.depth--
		p.hold(-depthCost)
	}
}

// saveTraps returns a function that undoes what a subshell, which shares the process, changes
// about signals.
func (p *proc) saveTraps() (restore func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	trapped, ignored := p.trapped, p.ignored
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.trapped, p.ignored = trapped, ignored
		p.pending &= trapped
	}
}

// getenv returns an environment variable of a program.
func (p *proc) getenv(name string) string {
	for _, kv := range slices.Backward(p.env) {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}

// stdin returns the standard input.
func (p *proc) stdin() io.Reader { return stream{p, 0} }

// print writes to the standard output.
func (p *proc) print(s string) { _, _ = io.WriteString(stream{p, 1}, s) }

func (p *proc) printf(format string, args ...any) { p.print(fmt.Sprintf(format, args...)) }

// errorf writes a line to the standard error.
func (p *proc) errorf(format string, args ...any) {
	_, _ = io.WriteString(stream{p, 2}, fmt.Sprintf(format, args...)+"\n")
}

// fail reports an error of a program and returns 1.
func (p *proc) fail(format string, args ...any) int {
	p.errorf(p.args[0]+": "+format, args...)
	return 1
}

// guard runs the code of a process and returns its exit status: a panic of it
// ends the process, not the host.
func (p *proc) guard(code func() int) (status int) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case abort:
			status = r.code
		case expandError: // of a program
			status = 2
			p.report("%s", r.msg)
		default:
			status = 2
			p.report("simulation failed: %v", r)
		}
	}()
	return code()
}

// report writes an error for a process that ends. The process may be killed
// while it does: that is an abort, too.
func (p *proc) report(format string, args ...any) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(abort); !ok {
				panic(r)
			}
		}
	}()
	p.errorf(p.args[0]+": "+format, args...)
}
