package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// machineOf prepares a run.
func machineOf(ctx context.Context, c Config) *machine {
	m := &machine{cfg: c, fs: c.FS, lim: c.Limits.withDefaults(), table: c.Processes}
	if m.fs == nil {
		m.fs = NewFS(16 << 20)
	}
	if m.table == nil {
		m.table = NewProcesses()
	}
	m.cred = &cred{uid: int32(c.User), gid: int32(c.Group), umask: 0o022}
	for _, g := range c.Groups {
		m.cred.groups = append(m.cred.groups, int32(g))
	}
	if m.cfg.Hostname == "" {
		m.cfg.Hostname = "localhost"
	}
	m.cpu = newPacer(m.lim.CPUShare)
	m.output = newBucket(float64(m.lim.OutputRate), 4<<20)
	m.ctx, m.cancel = context.WithCancelCause(ctx)
	return m
}

func (l Limits) withDefaults() Limits {
	if l.CPUShare <= 0 {
		l.CPUShare = 0.05
	}
	if l.OutputRate <= 0 {
		l.OutputRate = 256 << 10
	}
	if l.Memory <= 0 {
		l.Memory = 16 << 20
	}
	if l.OpenFiles <= 0 {
		l.OpenFiles = 256
	}
	if l.Depth <= 0 {
		l.Depth = 200
	}
	if l.Processes <= 0 {
		l.Processes = 64
	}
	return l
}

// environment returns the environment of the first process.
func (m *machine) environment() []string {
	env := slices.Clone(m.cfg.Env)
	has := func(name string) bool {
		return slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	}
	add := func(name, value string) {
		if !has(name) {
			env = append(env, name+"="+value)
		}
	}
	add("PATH", defaultPath)
	add("HOSTNAME", m.cfg.Hostname)
	if !has("HOME") {
		home := "/"
		if u, ok := m.userByID(m.cfg.User); ok {
			home = u.home
		}
		add("HOME", home)
	}
	if m.cfg.TTY {
		add("TERM", "xterm")
	}
	return env
}

// Run runs a command until it ends, is killed, or ctx is done, which is like
// KILL. It returns when everything that it started has ended. The error says
// that the command could not be started; it wraps [ErrUnknownProgram] if the
// engine does not know the program.
func Run(ctx context.Context, c Config) (Result, error) {
	if len(c.Args) == 0 {
		return Result{}, errors.New("no command")
	}
	m := machineOf(ctx, c)
	defer m.cancel(nil)
	m.openStreams()
	p, err := m.newProc(m.ctx, nil, c.Args)
	if err != nil {
		return Result{}, err
	}
	defer m.cleanUp()
	m.giveStreams(p)
	p.dir = path.Clean("/" + c.Dir)
	stop := m.forwardSignals(p)
	var startErr error
	status := p.finish(func() int {
		run, err := p.begin()
		if err != nil {
			startErr = err
			return 127
		}
		return run(p, c.Args)
	})
	stop()
	if startErr != nil {
		return Result{}, startErr
	}
	return m.result(status), nil
}

// begin prepares the first process and finds its program.
func (p *proc) begin() (program, error) {
	name := p.args[0]
	p.env = p.m.environment()
	if err := p.m.fs.mkdirAll(nil, p.dir, 0o755); err != nil {
		return nil, fmt.Errorf("working directory %s: %s", p.dir, errText(err))
	}
	run, _, err := p.loadProgram(p.args, p.getenv("PATH"))
	if err == nil {
		return run, nil
	}
	if _, err := p.findPath(name, p.getenv("PATH")); errors.Is(err, syscall.EACCES) {
		return nil, fmt.Errorf("exec: %q: permission denied", name)
	}
	return nil, fmt.Errorf("exec: %q: %w", name, ErrUnknownProgram)
}

// result tells how the command ended.
func (m *machine) result(status int) Result {
	switch {
	case m.oom.Load():
		return Result{ExitCode: 137, Reason: OOMKilled}
	case status == 0:
		return Result{Reason: Completed}
	}
	return Result{ExitCode: status, Reason: Error}
}

// cleanUp ends everything that the command started and waits for it.
func (m *machine) cleanUp() {
	m.kill()
	if m.tty != nil {
		m.tty.stop()
	}
	m.wg.Wait()
	for _, p := range m.table.list() {
		if p.m == m { // its creation was interrupted
			p.end()
		}
	}
	held.Add(-m.mem.Load())
}

// openStreams makes writers of those of the caller.
func (m *machine) openStreams() {
	m.out = outerWriter{mu: &sync.Mutex{}, w: m.cfg.Stdout}
	m.errOut = outerWriter{mu: &sync.Mutex{}, w: m.cfg.Stderr}
	if m.cfg.TTY {
		m.errOut = m.out
	}
	if sameWriter(m.cfg.Stdout, m.cfg.Stderr) {
		m.errOut.mu = m.out.mu
	}
}

// giveStreams gives the first process its standard streams.
func (m *machine) giveStreams(p *proc) {
	if m.cfg.TTY {
		m.tty = newTerminal(m, m.cfg.Stdin, m.out)
		t := m.newFile(m.tty)
		p.fds[0], p.fds[1], p.fds[2] = t, t.dup(), t.dup()
		m.tty.interrupt = func() { p.signal(syscall.SIGINT) }
		return
	}
	p.fds[0] = m.newFile(newOuterReader(m.cfg.Stdin))
	p.fds[1] = m.newFile(m.out)
	p.fds[2] = m.newFile(m.errOut)
}

// sameWriter reports whether two writers are the same.
func sameWriter(a, b io.Writer) bool {
	if a == nil || b == nil {
		return false
	}
	ta, tb := reflect.TypeOf(a), reflect.TypeOf(b)
	return ta == tb && ta.Comparable() && a == b
}

// forwardSignals delivers the signals of the caller until stop is called.
func (m *machine) forwardSignals(p *proc) (stop func()) {
	if m.cfg.Signals == nil {
		return func() {}
	}
	done := make(chan struct{})
	m.wg.Go(func() {
		for {
			select {
			case sig, ok := <-m.cfg.Signals:
				if !ok {
					return
				}
				p.signal(sig)
			case <-done:
				return
			}
		}
	})
	return func() { close(done) }
}
