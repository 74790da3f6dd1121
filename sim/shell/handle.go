package shell

import (
	"io/fs"
	"syscall"
)

// handle is an open file or directory.
type handle struct {
	dir    *dirState
	node   *node
	path   string
	flags  int
	off    int64
	closed bool
}

// open opens a file as open(2) does.
func (t *tree) open(c *cred, name string, flags int, perm fs.FileMode) (*handle, error) {
	writes := flags&(syscall.O_WRONLY|syscall.O_RDWR) != 0
	at, err := t.walk(c, name, true, writes)
	if err != nil {
		return nil, err
	}
	if at.node == nil {
		if flags&syscall.O_CREAT == 0 {
			return nil, syscall.ENOENT
		}
		if at.readOnly {
			return nil, syscall.EROFS
		}
	}
	if writes && at.readOnly && at.node.mode&fs.ModeDevice == 0 {
		return nil, syscall.EROFS
	}
	at.dir.mu.Lock()
	defer at.dir.mu.Unlock()
	if at.node == nil {
		at.node = at.parent.children[at.name] // another process may have made it
	}
	if at.node == nil {
		if err := c.may(at.parent, mayWrite|mayExec); err != nil {
			return nil, err
		}
		if c != nil {
			perm &^= c.umask
		}
		if at.node, err = at.dir.add(at.parent, at.name, perm&fs.ModePerm, c); err != nil {
			return nil, err
		}
	} else if err := at.openExisting(c, flags, writes); err != nil {
		return nil, err
	}
	if at.node.owner != nil {
		at.node.opens++
	}
	return &handle{dir: at.dir, node: at.node, path: at.path, flags: flags}, nil
}

func (at *place) openExisting(c *cred, flags int, writes bool) error {
	access := fs.FileMode(mayRead)
	if writes {
		access = mayWrite
		if flags&syscall.O_RDWR != 0 {
			access |= mayRead
		}
	}
	if err := c.may(at.node, access); err != nil {
		return err
	}
	if !writes || at.node.mode&fs.ModeDevice != 0 {
		return nil
	}
	if at.node.isDir() {
		return syscall.EISDIR
	}
	at.ownNode()
	if flags&syscall.O_TRUNC != 0 {
		return at.dir.resize(at.node, 0)
	}
	return nil
}

func (h *handle) close() {
	h.dir.mu.Lock()
	defer h.dir.mu.Unlock()
	if h.closed || h.node.owner == nil {
		return
	}
	h.closed = true
	h.node.opens--
	h.dir.release(h.node)
}

// readSome reads at the offset; 0 bytes mean the end of the file.
func (h *handle) readSome(b []byte) (int, error) {
	if h.flags&syscall.O_WRONLY != 0 {
		return 0, syscall.EBADF
	}
	h.dir.mu.Lock()
	defer h.dir.mu.Unlock()
	if h.node.isDir() {
		return 0, syscall.EISDIR
	}
	if h.off >= int64(len(h.node.data)) {
		return 0, nil
	}
	n := copy(b, h.node.data[h.off:])
	h.off += int64(n)
	return n, nil
}

// rewindTruncated goes to the beginning of a file that is shorter than what was read of it.
func (h *handle) rewindTruncated() {
	h.dir.mu.Lock()
	defer h.dir.mu.Unlock()
	if h.off > int64(len(h.node.data)) {
		h.off = 0
	}
}

// writeAll writes at the offset, or at the end of the file with O_APPEND.
func (h *handle) writeAll(b []byte) (int, error) {
	if h.flags&(syscall.O_WRONLY|syscall.O_RDWR) == 0 {
		return 0, syscall.EBADF
	}
	h.dir.mu.Lock()
	defer h.dir.mu.Unlock()
	if h.flags&syscall.O_APPEND != 0 {
		h.off = int64(len(h.node.data))
	}
	if err := h.dir.writeAt(h.node, b, h.off); err != nil {
		return 0, err
	}
	h.off += int64(len(b))
	return len(b), nil
}
