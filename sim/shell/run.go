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
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// shells are the names of the shell.
var shells = map[string]bool{"sh": true, "ash": true, "dash": true, "bash": true}

// Runs reports whether the engine knows the program of a command: one of its
// own programs or a shell.
func Runs(args []string) bool { return RunsFile(nil, args) }

// RunsFile is like Runs for a container with a file system: the program may
// also be a script in it that names a shell in its first line.
func RunsFile(fs *FS, args []string) bool {
	if len(args) == 0 {
		return false
	}
	dir, name := path.Split(args[0])
	if dir == "" || slices.Contains(strings.Split(defaultPath, ":"), strings.TrimSuffix(dir, "/")) {
		if programTable[name] != nil {
			return true
		}
	}
	if fs == nil || dir == "" {
		return false
	}
	if info, err := fs.stat(nil, args[0], true); err != nil || info.IsDir() || info.mode&0o111 == 0 {
		return false
	}
	interpreter, err := fs.interpreter(nil, args[0])
	return err == nil && programTable[path.Base(interpreter[0])] != nil
}

// Unknown returns the names of the programs that a command needs and the
// engine does not know: the program itself, and the literal command names in a
// script that "sh -c" gets.
func Unknown(args []string) []string { return UnknownFile(nil, args) }

// maxUnknown is how many names of unknown programs are returned.
const maxUnknown = 20

// UnknownFile is like Unknown for a container with a file system: programs may
// also be scripts in it, see [RunsFile].
func UnknownFile(fs *FS, args []string) (unknown []string) {
	if len(args) == 0 {
		return nil
	}
	if !RunsFile(fs, args) {
		return []string{shortName(args[0])}
	}
	script, ok := inlineScript(args)
	if !ok {
		return nil
	}
	file, err := parse(script)
	if err != nil {
		return nil
	}
	defer func() {
		if recover() != nil { // the library cannot walk this script: it is left to the shell
			unknown = nil
		}
	}()
	defined := map[string]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		if fn, ok := n.(*syntax.FuncDecl); ok && fn.Name != nil {
			defined[fn.Name.Value] = true
		}
		return true
	})
	known := defined // or reported
	syntax.Walk(file, func(n syntax.Node) bool {
		if len(unknown) == maxUnknown {
			return false
		}
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		name := commandName(call)
		relative := strings.Contains(name, "/") && !strings.HasPrefix(name, "/")
		if name != "" && !relative && !known[name] && builtinTable[name] == nil && !RunsFile(fs, []string{name}) {
			known[name] = true
			unknown = append(unknown, shortName(name))
		}
		return true
	})
	return unknown
}

// shortName returns a name that does not keep a script in memory. No longer one can be
// the path of a file.
func shortName(name string) string {
	return strings.Clone(name[:min(len(name), 4096)])
}

// commandName returns the literal name of the program that a command runs, ""
// if it has none.
func commandName(call *syntax.CallExpr) string {
	words := call.Args
	for len(words) > 1 && slices.Contains([]string{"exec", "command", "nohup"}, words[0].Lit()) {
		words = words[1:]
	}
	if len(words) == 0 || strings.HasPrefix(words[0].Lit(), "-") { // command -v name
		return ""
	}
	return words[0].Lit()
}

// inlineScript returns the script of "sh -c script".
func inlineScript(args []string) (string, bool) {
	if !shells[path.Base(args[0])] {
		return "", false
	}
	for i, arg := range args[1:] {
		if !strings.HasPrefix(arg, "-") || arg == "--" {
			return "", false
		}
		if strings.Contains(arg, "c") && !strings.HasPrefix(arg, "--") && i+2 < len(args) {
			return args[i+2], true
		}
	}
	return "", false
}

// Sleeps reports whether a command does nothing but sleep, such as "sleep 1h"
// or sh -c "sleep infinity", and for how long; forever is a negative duration. A
// caller can then keep a timer instead of calling Run.
func Sleeps(args []string) (d time.Duration, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	if script, ok := inlineScript(args); ok {
		args = strings.Fields(strings.TrimPrefix(strings.TrimSpace(script), "exec "))
		if strings.ContainsAny(script, "\n;&|<>()$`\\\"'*?[#~{}") || len(args) == 0 {
			return 0, false
		}
	}
	if path.Base(args[0]) != "sleep" || !Runs(args) {
		if path.Base(args[0]) == "tail" && Runs(args) && len(args) == 3 && args[1] == "-f" && args[2] == "/dev/null" {
			return -1, true
		}
		return 0, false
	}
	d, err := sleepTime(args[1:])
	return d, err == nil
}

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
	run, _, err := p.find(p.args, p.getenv("PATH"))
	if err == nil {
		return run, nil
	}
	if _, err := p.look(name, p.getenv("PATH")); errors.Is(err, syscall.EACCES) {
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
