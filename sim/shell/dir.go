package shell

import (
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// nodeCost is what a file, link or directory counts beside its content: it
// bounds how many there are.
const nodeCost = 256

// maxStored bounds what all Dirs of the process, and what others have reserved, hold
// together.
const maxStored = 1 << 30

// stored counts what all Dirs hold, and what others have reserved.
var stored atomic.Int64

// Reserve counts bytes that a caller stores for a container in addition to its files. It
// returns false if all containers hold as much as they may.
func Reserve(n int) bool {
	if stored.Add(int64(n)) > maxStored {
		stored.Add(-int64(n))
		return false
	}
	return true
}

// Release ends what Reserve began.
func Release(n int) { stored.Add(-int64(n)) }

// A Dir is a tree of files in memory: a volume, or the root of an [FS]. It is
// safe for concurrent use and can be mounted into several containers at once.
// Paths are relative to its root, with or without a leading slash.
type Dir struct {
	tree
	*dirState
	lazy *lazy // nil if it has its content from the beginning
}

// dirState is the state of a Dir, apart from it so that the garbage collector
// can tell when the Dir itself is unused.
type dirState struct {
	mu    sync.RWMutex
	top   *node
	limit int64
	used  int64
	usage *usage
}

// usage is what a Dir contributes to stored.
type usage struct{ bytes atomic.Int64 }

// node is a file, directory, link or device. Nodes of the image have no owner
// and never change; all others are guarded by the lock of their owner.
type node struct {
	owner    *dirState
	mode     fs.FileMode
	uid, gid int32
	mtime    int64 // in ns
	links    int32 // names that it has
	opens    int32
	data     []byte
	target   string // of a symbolic link; the program or device of other nodes of the image
	children map[string]*node
}

func (n *node) isDir() bool  { return n.mode.IsDir() }
func (n *node) isLink() bool { return n.mode&fs.ModeSymlink != 0 }

// size is what the content of a node counts.
func (n *node) size() int64 {
	if n.isLink() {
		return int64(len(n.target))
	}
	return int64(len(n.data))
}

// clone returns a copy of a node of the image that a Dir owns; the root, which
// has no name, is not counted. The Dir must be locked.
func (n *node) clone(d *dirState, name string) *node {
	if name != "" {
		d.count(nodeCost + int64(len(name)) + n.size())
	}
	c := *n
	c.owner = d
	if n.isDir() {
		c.children = make(map[string]*node, len(n.children)+1)
		for name, child := range n.children {
			c.children[name] = child
		}
	} else {
		c.data = append([]byte(nil), n.data...)
	}
	return &c
}

// reserve counts bytes that are about to be stored, or freed if n is negative.
// The Dir must be locked.
func (d *dirState) reserve(n int64) error {
	if n > 0 && (d.limit > 0 && d.used+n > d.limit || stored.Load()+n > maxStored) {
		return syscall.ENOSPC
	}
	d.count(n)
	return nil
}

func (d *dirState) count(n int64) {
	d.used += n
	stored.Add(n)
	d.usage.bytes.Add(n)
}

// add makes a new node in a directory. The Dir must be locked.
func (d *dirState) add(parent *node, name string, mode fs.FileMode, c *cred) (*node, error) {
	if parent.links == 0 {
		return nil, syscall.ENOENT
	}
	if err := d.reserve(nodeCost + int64(len(name))); err != nil {
		return nil, err
	}
	n := &node{owner: d, mode: mode, mtime: time.Now().UnixNano(), links: 1, uid: c.userID(), gid: c.groupID()}
	if mode.IsDir() {
		n.children = map[string]*node{}
	}
	if parent.mode&fs.ModeSetgid != 0 {
		n.gid = parent.gid
		if mode.IsDir() {
			n.mode |= fs.ModeSetgid
		}
	}
	parent.children[name] = n
	parent.mtime = n.mtime
	return n, nil
}

// unlink removes a name from a directory. The Dir must be locked.
func (d *dirState) unlink(parent *node, name string) {
	n := parent.children[name]
	delete(parent.children, name)
	parent.mtime = time.Now().UnixNano()
	if n.owner != d {
		return // of the image
	}
	d.count(-nodeCost - int64(len(name)))
	n.links--
	d.release(n)
}

// release frees the content of a node without names that is not open.
func (d *dirState) release(n *node) {
	if n.links == 0 && n.opens == 0 && !n.isDir() {
		d.count(-n.size())
		n.data = nil
	}
}

// resize changes the length of a file. The Dir must be locked.
func (d *dirState) resize(n *node, size int64) error {
	if err := d.reserve(size - int64(len(n.data))); err != nil {
		return err
	}
	if size <= int64(len(n.data)) {
		n.data = append([]byte(nil), n.data[:size]...)
	} else {
		n.data = append(n.data, make([]byte, size-int64(len(n.data)))...)
	}
	n.mtime = time.Now().UnixNano()
	return nil
}

// writeAt writes to a file, which grows as needed. The Dir must be locked.
func (d *dirState) writeAt(n *node, b []byte, off int64) error {
	end := off + int64(len(b))
	if end < off {
		return syscall.EFBIG
	}
	if grow := end - int64(len(n.data)); grow > 0 {
		if err := d.reserve(grow); err != nil {
			return err
		}
		if off > int64(len(n.data)) {
			n.data = append(n.data, make([]byte, off-int64(len(n.data)))...)
		}
		n.data = append(n.data[:off], b...)
	} else {
		copy(n.data[off:], b)
	}
	n.mtime = time.Now().UnixNano()
	return nil
}

// cred is who accesses files; nil is root.
type cred struct {
	uid, gid int32
	groups   []int32
	umask    fs.FileMode
}

func (c *cred) userID() int32 {
	if c == nil {
		return 0
	}
	return c.uid
}

func (c *cred) groupID() int32 {
	if c == nil {
		return 0
	}
	return c.gid
}

const (
	mayExec  = 1
	mayWrite = 2
	mayRead  = 4
)

// may checks an access to a node, which must be locked.
func (c *cred) may(n *node, access fs.FileMode) error {
	if c == nil || c.uid == 0 {
		if access&mayExec != 0 && !n.isDir() && n.mode&0o111 == 0 {
			return syscall.EACCES
		}
		return nil
	}
	mode := n.mode
	switch {
	case c.uid == n.uid:
		mode >>= 6
	case c.inGroup(n.gid):
		mode >>= 3
	}
	if mode&access != access {
		return syscall.EACCES
	}
	return nil
}

func (c *cred) inGroup(gid int32) bool {
	if c.gid == gid {
		return true
	}
	for _, g := range c.groups {
		if g == gid {
			return true
		}
	}
	return false
}

// owns reports whether who accesses may change the attributes of a node.
func (c *cred) owns(n *node) error {
	if c == nil || c.uid == 0 || c.uid == n.uid {
		return nil
	}
	return syscall.EPERM
}

// sticky checks that an entry of a directory such as /tmp may be removed.
func (c *cred) sticky(parent, n *node) error {
	if c == nil || c.uid == 0 || parent.mode&fs.ModeSticky == 0 || c.uid == n.uid || c.uid == parent.uid {
		return nil
	}
	return syscall.EPERM
}
