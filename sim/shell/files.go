package shell

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Files is what [Dir] and [FS] have in common. Accesses through it are those of
// root. Errors are [*fs.PathError] with an errno of package syscall.
type Files interface {
	// WriteFile replaces the content of a file, which gets perm if it is new.
	WriteFile(name string, data []byte, perm fs.FileMode) error
	ReadFile(name string) ([]byte, error)
	MkdirAll(name string, perm fs.FileMode) error
	// Remove removes a file, a link or an empty directory.
	Remove(name string) error
	// RemoveAll removes a tree; a missing one is not an error.
	RemoveAll(name string) error
	// Rename replaces newName.
	Rename(oldName, newName string) error
	Symlink(target, name string) error
	Readlink(name string) (string, error)
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Chmod(name string, mode fs.FileMode) error
	Chown(name string, uid, gid int) error
	Chtimes(name string, mtime time.Time) error
}

var (
	_ Files = (*Dir)(nil)
	_ Files = (*FS)(nil)
)

func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// WriteFile implements [Files].
func (t *tree) WriteFile(name string, data []byte, perm fs.FileMode) error {
	h, err := t.open(nil, "/"+name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC, perm)
	if err != nil {
		return pathError("open", name, err)
	}
	defer h.close()
	_, err = h.writeAll(data)
	return pathError("write", name, err)
}

// ReadFile implements [Files].
func (t *tree) ReadFile(name string) ([]byte, error) {
	h, err := t.open(nil, "/"+name, syscall.O_RDONLY, 0)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	defer h.close()
	h.dir.mu.RLock()
	defer h.dir.mu.RUnlock()
	if h.node.isDir() {
		return nil, pathError("read", name, syscall.EISDIR)
	}
	return slices.Clone(h.node.data), nil
}

// MkdirAll implements [Files].
func (t *tree) MkdirAll(name string, perm fs.FileMode) error {
	return pathError("mkdir", name, t.mkdirAll(nil, "/"+name, perm))
}

func (t *tree) mkdirAll(c *cred, name string, perm fs.FileMode) error {
	elems := split(name)
	for i := range elems {
		at := "/" + strings.Join(elems[:i+1], "/")
		if info, err := t.stat(c, at, true); err == nil {
			if !info.IsDir() {
				return syscall.ENOTDIR
			}
			continue
		}
		if err := t.mkdir(c, at, perm); err != nil && !errors.Is(err, syscall.EEXIST) {
			return err
		}
	}
	return nil
}

func (t *tree) mkdir(c *cred, name string, perm fs.FileMode) error {
	_, err := t.create(c, trimSlashes(name), fs.ModeDir|perm&fs.ModePerm, "")
	return err
}

// create makes a node that does not exist yet.
func (t *tree) create(c *cred, name string, mode fs.FileMode, target string) (*node, error) {
	at, err := t.walk(c, name, false, true)
	if err != nil {
		return nil, err
	}
	if at.node != nil {
		return nil, syscall.EEXIST
	}
	if at.readOnly {
		return nil, syscall.EROFS
	}
	at.dir.mu.Lock()
	defer at.dir.mu.Unlock()
	if err := c.may(at.parent, mayWrite|mayExec); err != nil {
		return nil, err
	}
	if at.parent.children[at.name] != nil {
		return nil, syscall.EEXIST
	}
	if err := at.dir.reserve(int64(len(target))); err != nil {
		return nil, err
	}
	if c != nil && target == "" {
		mode &^= c.umask
	}
	n, err := at.dir.add(at.parent, at.name, mode, c)
	if err != nil {
		at.dir.count(-int64(len(target)))
		return nil, err
	}
	n.target = target
	return n, nil
}

// Symlink implements [Files].
func (t *tree) Symlink(target, name string) error {
	return pathError("symlink", name, t.symlink(nil, target, "/"+name))
}

func (t *tree) symlink(c *cred, target, name string) error {
	if target == "" {
		return syscall.ENOENT
	}
	if len(target) > maxPath {
		return syscall.ENAMETOOLONG
	}
	_, err := t.create(c, name, fs.ModeSymlink|0o777, target)
	return err
}

// link makes another name for a file.
func (t *tree) link(c *cred, oldName, newName string) error {
	from, err := t.existing(c, oldName, false, true)
	if err != nil {
		return err
	}
	to, err := t.walk(c, newName, false, true)
	if err != nil {
		return err
	}
	switch {
	case to.node != nil:
		return syscall.EEXIST
	case to.readOnly:
		return syscall.EROFS
	case from.dir != to.dir:
		return syscall.EXDEV
	}
	d := to.dir
	d.mu.Lock()
	defer d.mu.Unlock()
	if from.node.isDir() {
		return syscall.EPERM
	}
	if err := c.may(to.parent, mayWrite|mayExec); err != nil {
		return err
	}
	if to.parent.links == 0 || to.parent.children[to.name] != nil {
		return syscall.EEXIST
	}
	if err := d.reserve(nodeCost + int64(len(to.name))); err != nil {
		return err
	}
	from.ownNode()
	from.node.links++
	to.parent.children[to.name] = from.node
	return nil
}

// existing is walk for a node that must exist.
func (t *tree) existing(c *cred, name string, follow, own bool) (place, error) {
	at, err := t.walk(c, name, follow, own)
	if err == nil && at.node == nil {
		err = syscall.ENOENT
	}
	return at, err
}

// Readlink implements [Files].
func (t *tree) Readlink(name string) (string, error) {
	target, err := t.readlink(nil, "/"+name)
	return target, pathError("readlink", name, err)
}

func (t *tree) readlink(c *cred, name string) (string, error) {
	at, err := t.existing(c, name, false, false)
	if err != nil {
		return "", err
	}
	if !at.node.isLink() {
		return "", syscall.EINVAL
	}
	return at.node.target, nil
}

// trimSlashes removes slashes at the end of a path: they do not follow a link
// where the link itself is meant.
func trimSlashes(name string) string {
	if trimmed := strings.TrimRight(name, "/"); trimmed != "" {
		return trimmed
	}
	return "/"
}

// Remove implements [Files].
func (t *tree) Remove(name string) error { return pathError("remove", name, t.remove(nil, "/"+name)) }

func (t *tree) remove(c *cred, name string) error {
	at, err := t.existing(c, trimSlashes(name), false, true)
	if err != nil {
		return err
	}
	if at.parent == nil || at.covered || t.mountedBelow(at.path) {
		return syscall.EBUSY
	}
	if at.readOnly {
		return syscall.EROFS
	}
	at.dir.mu.Lock()
	defer at.dir.mu.Unlock()
	return at.removeLocked(c)
}

func (at *place) removeLocked(c *cred) error {
	if at.parent.children[at.name] != at.node {
		return syscall.ENOENT
	}
	if err := cmp.Or(c.may(at.parent, mayWrite|mayExec), c.sticky(at.parent, at.node)); err != nil {
		return err
	}
	if len(at.node.children) > 0 {
		return syscall.ENOTEMPTY
	}
	at.dir.unlink(at.parent, at.name)
	return nil
}

// mountedBelow reports whether something is mounted in a directory.
func (t *tree) mountedBelow(dir string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for at := range t.mounts {
		if strings.HasPrefix(at, dir+"/") {
			return true
		}
	}
	return false
}

// RemoveAll implements [Files].
func (t *tree) RemoveAll(name string) error {
	return pathError("remove", name, t.removeAll(nil, "/"+name, func() {}))
}

// removeAll removes a tree from its leaves up, without recursion, as a tree can
// be deep; step is called for each node.
func (t *tree) removeAll(c *cred, name string, step func()) error {
	stack := []string{trimSlashes(name)}
	for len(stack) > 0 {
		step()
		at := stack[len(stack)-1]
		err := t.remove(c, at)
		if errors.Is(err, syscall.ENOENT) || err == nil {
			stack = stack[:len(stack)-1]
			continue
		}
		if !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
		entries, err := t.readDir(c, at)
		if err != nil {
			return err
		}
		for _, e := range entries {
			stack = append(stack, at+"/"+e.name)
		}
	}
	return nil
}

// Rename implements [Files].
func (t *tree) Rename(oldName, newName string) error {
	return pathError("rename", oldName, t.rename(nil, "/"+oldName, "/"+newName))
}

func (t *tree) rename(c *cred, oldName, newName string) error {
	from, err := t.existing(c, trimSlashes(oldName), false, true)
	if err != nil {
		return err
	}
	to, err := t.walk(c, trimSlashes(newName), false, true)
	if err != nil {
		return err
	}
	switch {
	case from.parent == nil || to.parent == nil || from.covered || to.covered || t.mountedBelow(from.path) || t.mountedBelow(to.path):
		return syscall.EBUSY
	case from.readOnly || to.readOnly:
		return syscall.EROFS
	case from.dir != to.dir:
		return syscall.EXDEV
	case strings.HasPrefix(to.path, from.path+"/"):
		return syscall.EINVAL
	}
	d := from.dir
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.move(c, from, to)
}

// move moves a node to another name. The Dir must be locked.
func (d *dirState) move(c *cred, from, to place) error {
	if from.parent.children[from.name] != from.node || to.parent.links == 0 {
		return syscall.ENOENT
	}
	if err := cmp.Or(c.may(from.parent, mayWrite|mayExec), c.may(to.parent, mayWrite|mayExec), c.sticky(from.parent, from.node)); err != nil {
		return err
	}
	old := to.parent.children[to.name]
	if old == from.node {
		return nil
	}
	if old != nil {
		switch {
		case old.isDir() && !from.node.isDir():
			return syscall.EISDIR
		case !old.isDir() && from.node.isDir():
			return syscall.ENOTDIR
		case len(old.children) > 0:
			return syscall.ENOTEMPTY
		}
		if err := c.sticky(to.parent, old); err != nil {
			return err
		}
		d.unlink(to.parent, to.name)
	}
	from.ownNode()
	d.count(int64(len(to.name) - len(from.name)))
	to.parent.children[to.name] = from.node
	delete(from.parent.children, from.name)
	return nil
}

// Stat implements [Files].
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	info, err := t.stat(nil, "/"+name, true)
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	return info, nil
}

// Lstat implements [Files].
func (t *tree) Lstat(name string) (fs.FileInfo, error) {
	info, err := t.stat(nil, "/"+name, false)
	if err != nil {
		return nil, pathError("lstat", name, err)
	}
	return info, nil
}

func (t *tree) stat(c *cred, name string, follow bool) (fileInfo, error) {
	at, err := t.existing(c, name, follow, false)
	if err != nil {
		return fileInfo{}, err
	}
	at.dir.mu.RLock()
	defer at.dir.mu.RUnlock()
	return at.node.info(at.name), nil
}

// access checks what a user may do with a file.
func (t *tree) access(c *cred, name string, access fs.FileMode) error {
	at, err := t.existing(c, name, true, false)
	if err != nil {
		return err
	}
	if access&mayWrite != 0 && at.readOnly {
		return syscall.EROFS
	}
	at.dir.mu.RLock()
	defer at.dir.mu.RUnlock()
	return c.may(at.node, access)
}

// ReadDir implements [Files].
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	infos, err := t.readDir(nil, "/"+name)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	entries := make([]fs.DirEntry, len(infos))
	for i, info := range infos {
		entries[i] = fs.FileInfoToDirEntry(info)
	}
	return entries, nil
}

func (t *tree) readDir(c *cred, name string) ([]fileInfo, error) {
	at, err := t.existing(c, name, true, false)
	if err != nil {
		return nil, err
	}
	at.dir.mu.RLock()
	defer at.dir.mu.RUnlock()
	if !at.node.isDir() {
		return nil, syscall.ENOTDIR
	}
	if err := c.may(at.node, mayRead); err != nil {
		return nil, err
	}
	infos := make([]fileInfo, 0, len(at.node.children))
	for _, name := range slices.Sorted(maps.Keys(at.node.children)) {
		infos = append(infos, at.node.children[name].info(name))
	}
	return infos, nil
}

// Chmod implements [Files].
func (t *tree) Chmod(name string, mode fs.FileMode) error {
	return pathError("chmod", name, t.chmod(nil, "/"+name, mode))
}

func (t *tree) chmod(c *cred, name string, mode fs.FileMode) error {
	const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	return t.change(name, c, func(n *node) error {
		if err := c.owns(n); err != nil {
			return err
		}
		n.mode = n.mode&^bits | mode&bits
		return nil
	})
}

// Chown implements [Files]. An ID of -1 stays.
func (t *tree) Chown(name string, uid, gid int) error {
	return pathError("chown", name, t.chown(nil, "/"+name, uid, gid))
}

func (t *tree) chown(c *cred, name string, uid, gid int) error {
	return t.change(name, c, func(n *node) error {
		if c != nil && c.uid != 0 && (uid >= 0 && int32(uid) != n.uid || c.owns(n) != nil || gid >= 0 && !c.inGroup(int32(gid))) {
			return syscall.EPERM
		}
		if uid >= 0 {
			n.uid = int32(uid)
		}
		if gid >= 0 {
			n.gid = int32(gid)
		}
		return nil
	})
}

// Chtimes implements [Files].
func (t *tree) Chtimes(name string, mtime time.Time) error {
	return pathError("chtimes", name, t.chtimes(nil, "/"+name, mtime))
}

func (t *tree) chtimes(c *cred, name string, mtime time.Time) error {
	return t.change(name, c, func(n *node) error {
		if c.owns(n) != nil && c.may(n, mayWrite) != nil {
			return syscall.EACCES
		}
		n.mtime = mtime.UnixNano()
		return nil
	})
}

// change changes the attributes of a node.
func (t *tree) change(name string, c *cred, do func(*node) error) error {
	at, err := t.existing(c, name, true, true)
	if err != nil {
		return err
	}
	if at.readOnly {
		return syscall.EROFS
	}
	at.dir.mu.Lock()
	defer at.dir.mu.Unlock()
	if at.node.mode&fs.ModeDevice != 0 {
		return do(&node{mode: at.node.mode, uid: at.node.uid, gid: at.node.gid})
	}
	at.ownNode()
	return do(at.node)
}

// fileInfo is what stat tells.
type fileInfo struct {
	name     string
	size     int64
	mode     fs.FileMode
	modTime  time.Time
	uid, gid int
	links    int
	node     *node
	target   string
}

func (n *node) info(name string) fileInfo {
	info := fileInfo{
		name: name, size: int64(len(n.data)), mode: n.mode, modTime: time.Unix(0, n.mtime), uid: int(n.uid), gid: int(n.gid),
		links: max(1, int(n.links)), node: n,
	}
	switch {
	case n.isLink():
		info.size, info.target = int64(len(n.target)), n.target
	case n.isDir():
		info.size, info.links = 4096, 2
	}
	if name == "" {
		info.name = "/"
	}
	return info
}

// Name implements [fs.FileInfo].
func (i fileInfo) Name() string { return i.name }

// Size implements [fs.FileInfo].
func (i fileInfo) Size() int64 { return i.size }

// Mode implements [fs.FileInfo].
func (i fileInfo) Mode() fs.FileMode { return i.mode }

// ModTime implements [fs.FileInfo].
func (i fileInfo) ModTime() time.Time { return i.modTime }

// IsDir implements [fs.FileInfo].
func (i fileInfo) IsDir() bool { return i.mode.IsDir() }

// Sys implements [fs.FileInfo].
func (i fileInfo) Sys() any { return nil }

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
