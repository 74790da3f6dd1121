package peer

import (
	"cmp"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"
)

const (
	// maxTime is how long a process is looked for. Usually that takes about a millisecond: the limit is for a machine
	// with very many open files, and a busy one must not change names.
	maxTime = time.Second
	// maxProcesses is how many processes are looked at, the newest ones first.
	maxProcesses = 4096
	// maxRecent is how many processes are looked at before: most have several connections.
	maxRecent = 256
)

// forwarders send what other programs have sent to them, without the header X-Forwarded-For. That of kubectl proxy
// has no such header if it listens on a Unix socket.
var forwarders = []string{
	"kubectl", "ctrlplane", "ssh", "sshd", "sshd-session", "socat", "nc", "nc.openbsd", "nc.traditional", "ncat",
	"docker-proxy", "rootlesskit", "rootlessport", "slirp4netns", "pasta", "systemd-socket-proxyd", "haproxy", "nginx", "envoy",
}

// Listen returns a listener whose connections tell Program from where they come.
func Listen(l net.Listener) net.Listener {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return l
	}
	return &listener{Listener: l, finder: &finder{fs: fs, socket: findSocket}, lookups: newLookups()}
}

type listener struct {
	net.Listener
	finder  *finder
	lookups *lookups
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	local, isTCP := c.LocalAddr().(*net.TCPAddr)
	remote, _ := c.RemoteAddr().(*net.TCPAddr)
	if !isTCP || !isSameMachine(local, remote) {
		return c, nil
	}
	find := func() (process, bool) { return l.finder.process(local, remote) }
	return conn{c, &address{Addr: local, find: find, lookups: l.lookups}}, nil
}

// isSameMachine reports whether the ends of a connection are on one machine.
func isSameMachine(local, remote *net.TCPAddr) bool {
	return remote.IP.IsLoopback() || remote.IP.Equal(local.IP)
}

type conn struct {
	net.Conn
	local *address
}

// LocalAddr implements net.Conn.
func (c conn) LocalAddr() net.Addr { return c.local }

// finder finds the processes of connections.
type finder struct {
	fs     procfs.FS
	socket func(to, from *net.TCPAddr) string // findSocket

	mu     sync.Mutex
	recent []int // the ids of processes that were found
}

// process returns the process that has connected from an address to another one. found is false if it was not found.
func (f *finder) process(to, from *net.TCPAddr) (found process, ok bool) {
	socket := f.socket(to, from)
	if socket == "" {
		return process{}, false
	}
	deadline := time.Now().Add(maxTime)
	for range maxAttempts {
		p, ok := f.owner(socket, deadline)
		if !ok {
			return process{}, false
		}
		if p.PID == os.Getpid() {
			return process{id: p.PID}, true
		}
		c := commandOf(p)
		if c.executable == "" || len(c.args) == 0 || !hasOpen(p, socket) { // a child of the program, which has executed another one
			continue
		}
		f.noteRecent(p.PID)
		if name := c.programName(); !slices.Contains(forwarders, name) {
			return process{p.PID, name}, true
		}
		return process{}, true
	}
	return process{}, false
}

// owner returns a process that has a socket open.
func (f *finder) owner(socket string, deadline time.Time) (procfs.Proc, bool) {
	has := func(p procfs.Proc) bool { return time.Now().Before(deadline) && hasOpen(p, socket) }
	for _, id := range f.recentProcesses() {
		if p, err := f.fs.Proc(id); err == nil && has(p) {
			return p, true
		}
	}
	all, err := f.fs.AllProcs()
	if err != nil {
		return procfs.Proc{}, false
	}
	slices.SortFunc(all, func(a, b procfs.Proc) int { return cmp.Compare(b.PID, a.PID) })
	all = all[:min(len(all), maxProcesses)]
	i := slices.IndexFunc(all, has)
	if i < 0 {
		return procfs.Proc{}, false
	}
	return all[i], true
}

func hasOpen(p procfs.Proc, socket string) bool {
	targets, err := p.FileDescriptorTargets()
	return err == nil && slices.Contains(targets, socket)
}

// recentProcesses returns the processes that were found, the last ones first. Some may have ended.
func (f *finder) recentProcesses() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.recent)
}

func (f *finder) noteRecent(id int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recent = slices.DeleteFunc(f.recent, func(other int) bool { return other == id })
	f.recent = slices.Insert(f.recent[:min(len(f.recent), maxRecent-1)], 0, id)
}

// commandOf returns what a process runs. What cannot be read is empty: the process may have ended.
func commandOf(p procfs.Proc) (c command) {
	c.executable, _ = p.Executable()
	c.executable = strings.TrimSuffix(c.executable, " (deleted)")
	c.args, _ = p.CmdLine()
	c.folder, _ = p.Cwd()
	return c
}
