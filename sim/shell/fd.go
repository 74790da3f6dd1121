package shell

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"path"
	"sync/atomic"
	"syscall"
)

// file is what a descriptor refers to. A read of 0 bytes means the end.
type file interface {
	read(p *proc, b []byte) (int, error)
	write(p *proc, b []byte) (int, error)
	close()
}

// ofile is an open file that descriptors share.
type ofile struct {
	file
	refs atomic.Int32
}

// fds are the descriptors of a process.
type fds [10]*ofile

// newFile counts a file as open and returns it with one reference.
func (m *machine) newFile(f file) *ofile {
	m.files.Add(1)
	o := &ofile{file: f}
	o.refs.Store(1)
	return o
}

// mayOpen checks that n more files may be opened.
func (m *machine) mayOpen(n int64) error {
	if m.files.Load()+n > int64(m.lim.OpenFiles) {
		return syscall.EMFILE
	}
	return nil
}

func (o *ofile) dup() *ofile {
	if o != nil {
		o.refs.Add(1)
	}
	return o
}

func (o *ofile) release(m *machine) {
	if o != nil && o.refs.Add(-1) == 0 {
		m.files.Add(-1)
		o.close()
	}
}

// dup returns a copy for another process.
func (f *fds) dup() (c fds) {
	for i, o := range f {
		c[i] = o.dup()
	}
	return c
}

// set makes a descriptor refer to a file.
func (f *fds) set(m *machine, fd int, o *ofile) {
	f[fd].release(m)
	f[fd] = o
}

func (f *fds) closeAll(m *machine) {
	for i := range f {
		f.set(m, i, nil)
	}
}

// stream reads and writes a descriptor of a process.
type stream struct {
	p  *proc
	fd int
}

// Read implements [io.Reader].
func (s stream) Read(b []byte) (int, error) {
	o := s.p.fds[s.fd]
	if o == nil {
		return 0, syscall.EBADF
	}
	return fileStream{s.p, o}.Read(b)
}

// Write implements [io.Writer]. A closed pipe ends the process, as SIGPIPE does.
func (s stream) Write(b []byte) (int, error) {
	o := s.p.fds[s.fd]
	if o == nil {
		return 0, syscall.EBADF
	}
	n, err := fileStream{s.p, o}.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		panic(abort{128 + int(syscall.SIGPIPE)})
	}
	return n, err
}

// abs returns a path as seen from the working directory. It counts the work of
// resolving it.
func (p *proc) abs(name string) string {
	p.step(1 + (len(name)+len(p.dir))/16)
	if name == "" || name[0] == '/' {
		return name
	}
	return p.dir + "/" + name
}

// clean is abs without dots.
func (p *proc) clean(name string) string { return path.Clean(p.abs(name)) }

// open opens a file of the container or a device.
func (p *proc) open(name string, flags int, perm fs.FileMode) (*ofile, error) {
	p.step(4)
	if err := p.m.mayOpen(1); err != nil {
		return nil, err
	}
	h, err := p.m.fs.open(p.cred, p.abs(name), flags, perm)
	if err != nil {
		return nil, err
	}
	if h.node.mode&fs.ModeDevice == 0 {
		return p.m.newFile((*fileHandle)(h)), nil
	}
	h.close()
	switch h.node.target {
	case "init-stdout", "init-stderr":
		first := p.m.table.find(1)
		if first == nil {
			return nil, syscall.ENXIO
		}
		if h.node.target == "init-stdout" {
			return p.m.newFile(first.m.out), nil
		}
		return p.m.newFile(first.m.errOut), nil
	case "stdin", "stdout", "stderr":
		o := p.fds[map[string]int{"stdin": 0, "stdout": 1, "stderr": 2}[h.node.target]]
		if o == nil {
			return nil, syscall.ENXIO
		}
		return o.dup(), nil
	case "tty":
		if p.m.tty == nil {
			return nil, syscall.ENXIO
		}
		return p.m.newFile(p.m.tty), nil
	}
	return p.m.newFile(device(h.node.target)), nil
}

// fileHandle is a file of the container.
type fileHandle handle

func (h *fileHandle) read(_ *proc, b []byte) (int, error)  { return (*handle)(h).readSome(b) }
func (h *fileHandle) write(_ *proc, b []byte) (int, error) { return (*handle)(h).writeAll(b) }
func (h *fileHandle) close()                               { (*handle)(h).close() }

// device is a file of /dev, by name.
type device string

func (d device) read(_ *proc, b []byte) (int, error) {
	switch d {
	case "zero", "full":
		clear(b)
		return len(b), nil
	case "random", "urandom":
		return rand.Read(b)
	}
	return 0, nil
}

func (d device) write(_ *proc, b []byte) (int, error) {
	if d == "full" {
		return 0, syscall.ENOSPC
	}
	return len(b), nil
}

func (device) close() {}
