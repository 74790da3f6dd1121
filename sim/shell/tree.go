package shell

import (
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

const (
	maxPath  = 4096
	maxName  = 255
	maxLinks = 40
)

// A tree resolves paths in a Dir and what is mounted into it.
type tree struct {
	root   *dirState
	mu     *sync.RWMutex
	mounts map[string]mount
	sealed *atomic.Bool // nothing but mounts can be written; nil in a Dir
}

// mount is a node of a Dir that covers a path.
type mount struct {
	dir      *dirState
	keep     *Dir // keeps what the Dir stores accounted
	node     *node
	readOnly bool
}

// MountOptions say how a Dir is mounted.
type MountOptions struct {
	ReadOnly bool
	// SubPath is the file or directory of the Dir that is mounted; "" = its
	// root. It is resolved once, as container runtimes do, when the Dir is filled.
	SubPath string
}

// FS is the file system of a container: a copy-on-write image that all
// containers share, and what is mounted into it. It is safe for concurrent use.
type FS struct {
	tree
	own *Dir
}

// NewFS returns a file system whose own files hold at most limit bytes; 0 = no
// limit. Mounted Dirs have limits of their own.
func NewFS(limit int64) *FS {
	d := newDir(limit, image())
	f := &FS{tree: d.tree, own: d}
	f.sealed = &atomic.Bool{}
	return f
}

// Seal makes all files that are not in a mount read-only.
func (f *FS) Seal() { f.sealed.Store(true) }

// NewDir returns an empty Dir that holds at most limit bytes, names and
// metadata included; 0 = no limit.
func NewDir(limit int64) *Dir {
	d := newDir(limit, nil)
	d.top = &node{owner: d.dirState, mode: fs.ModeDir | 0o777, links: 1, children: map[string]*node{}}
	return d
}

func newDir(limit int64, top *node) *Dir {
	d := &Dir{dirState: &dirState{top: top, limit: limit, usage: &usage{}}}
	d.tree = tree{root: d.dirState, mu: &sync.RWMutex{}}
	runtime.AddCleanup(d, func(u *usage) { stored.Add(-u.bytes.Load()) }, d.usage)
	return d
}

// Mount mounts a Dir at an absolute path, which is created if it is missing.
// Mounts are made before commands run; a later mount at the same path replaces it.
func (f *FS) Mount(name string, d *Dir, opt MountOptions) error {
	source, err := d.walk(nil, "/"+opt.SubPath, true, false)
	if err == nil && source.node == nil {
		err = syscall.ENOENT
	}
	if err != nil {
		return &fs.PathError{Op: "mount", Path: opt.SubPath, Err: err}
	}
	clean := path.Clean("/" + name)
	if clean == "/" {
		return &fs.PathError{Op: "mount", Path: name, Err: syscall.EBUSY}
	}
	if source.node.isDir() {
		err = f.MkdirAll(clean, 0o755)
	} else if _, missing := f.Lstat(clean); missing != nil {
		if err = f.MkdirAll(path.Dir(clean), 0o755); err == nil {
			err = f.WriteFile(clean, nil, 0o644)
		}
	}
	if err != nil {
		return err
	}
	at, err := f.walk(nil, clean, true, false)
	if err != nil {
		return &fs.PathError{Op: "mount", Path: name, Err: err}
	}
	if !source.node.isDir() { // it stays even if it is removed from the Dir
		d.dirState.mu.Lock()
		source.node.opens++
		d.dirState.mu.Unlock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	next := make(map[string]mount, len(f.mounts)+1)
	for k, v := range f.mounts {
		next[k] = v
	}
	next[at.path] = mount{dir: d.dirState, keep: d, node: source.node, readOnly: opt.ReadOnly}
	f.mounts = next
	return nil
}

// place is where a path leads.
type place struct {
	dir      *dirState // that has the node, or would have it
	parent   *node     // nil for the root
	name     string    // in parent
	path     string    // without links
	node     *node     // nil if it does not exist
	readOnly bool
	covered  bool // it is a mount point
	outside  bool // a link on the way is absolute or leads above the root
}

// split returns the elements of a path.
func split(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
}

// walk resolves an absolute path. With own, the directories on the way and the
// parent belong to a Dir afterwards and not to the image, unless the mount is
// read-only. A missing last element is not an error.
func (t *tree) walk(c *cred, name string, follow, own bool) (place, error) {
	if len(name) > maxPath {
		return place{}, syscall.ENAMETOOLONG
	}
	if name == "" || strings.IndexByte(name, 0) >= 0 {
		return place{}, syscall.ENOENT
	}
	t.mu.RLock()
	mounts := t.mounts
	t.mu.RUnlock()
	at := place{dir: t.root, path: "/", readOnly: t.sealed != nil && t.sealed.Load()}
	at.node = at.dir.topNode(own)
	stack := []place{at}
	pending, mustDir, links, outside := split(name), strings.HasSuffix(name, "/"), 0, false
	for steps := 0; len(pending) > 0; steps++ {
		if steps > maxPath {
			return place{}, syscall.ENAMETOOLONG // through links
		}
		elem := pending[0]
		pending = pending[1:]
		at := stack[len(stack)-1]
		if at.node == nil {
			return place{}, syscall.ENOENT
		}
		if len(elem) > maxName {
			return place{}, syscall.ENAMETOOLONG
		}
		next, err := at.child(c, elem, own, mounts)
		if err != nil {
			return place{}, err
		}
		if next.covered {
			if err := mounts[next.path].keep.Fill(); err != nil {
				return place{}, syscall.EIO
			}
		}
		if elem == "." {
			continue
		}
		if elem == ".." {
			outside = outside || len(stack) == 1
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
			continue
		}
		if next.node != nil && next.node.isLink() && (follow || mustDir || len(pending) > 0) {
			if links++; links > maxLinks {
				return place{}, syscall.ELOOP
			}
			target := next.node.target
			if strings.HasPrefix(target, "/") {
				stack, outside = stack[:1], true
			}
			pending = slices.Concat(split(target), pending)
			if len(pending) > maxPath {
				return place{}, syscall.ENAMETOOLONG
			}
			continue
		}
		stack = append(stack, next)
	}
	at = stack[len(stack)-1]
	at.outside = outside
	if mustDir && at.node != nil && !at.node.isDir() {
		return place{}, syscall.ENOTDIR
	}
	return at, nil
}

// topNode returns the root; one of the image is replaced by a copy if it is to
// be owned.
func (d *dirState) topNode(own bool) *node {
	if !own {
		d.mu.RLock()
		defer d.mu.RUnlock()
		return d.top
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.top.owner == nil {
		d.top = d.top.clone(d, "")
	}
	return d.top
}

// child looks an element up in a directory.
func (at place) child(c *cred, elem string, own bool, mounts map[string]mount) (place, error) {
	d := at.dir
	own = own && !at.readOnly
	if own {
		d.mu.Lock()
		defer d.mu.Unlock()
	} else {
		d.mu.RLock()
		defer d.mu.RUnlock()
	}
	if !at.node.isDir() {
		return place{}, syscall.ENOTDIR
	}
	if err := c.may(at.node, mayExec); err != nil {
		return place{}, err
	}
	if elem == "." || elem == ".." {
		return place{}, nil
	}
	next := place{dir: d, parent: at.node, name: elem, path: strings.TrimSuffix(at.path, "/") + "/" + elem, readOnly: at.readOnly}
	if m, ok := mounts[next.path]; ok {
		next.dir, next.node, next.covered = m.dir, m.node, true
		next.readOnly = m.readOnly
		return next, nil
	}
	next.node = at.node.children[elem]
	if own && next.node != nil && next.node.owner == nil && next.node.isDir() {
		next.node = next.node.clone(d, elem)
		at.node.children[elem] = next.node
	}
	return next, nil
}

// ownNode makes the node at a place belong to its Dir. The Dir must be locked.
func (at *place) ownNode() {
	if at.node.owner == nil {
		at.node = at.node.clone(at.dir, at.name)
		if at.parent == nil {
			at.dir.top = at.node
		} else {
			at.parent.children[at.name] = at.node
		}
	}
}
