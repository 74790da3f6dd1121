package shell

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sort"
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
	if len(name) > maxPath {
		return syscall.ENAMETOOLONG
	}
	elems := split(name)
	until := func(n int) string { return "/" + strings.Join(elems[:n], "/") }
	exist := sort.Search(len(elems), func(n int) bool { // the number of elements that exist
		_, err := t.stat(c, until(n+1), true)
		return err != nil
	})
	if info, err := t.stat(c, until(exist), true); err != nil || !info.IsDir() {
		return cmp.Or(err, error(syscall.ENOTDIR))
	}
	for i := exist; i < len(elems); i++ {
		n, err := t.create(c, until(i+1), fs.ModeDir|perm&fs.ModePerm, "")
		if err != nil && !errors.Is(err, syscall.EEXIST) {
			return err
		}
		if rest := elems[i+1:]; err == nil && !slices.Contains(rest, ".") && !slices.Contains(rest, "..") {
			return n.addDirs(c, rest)
		}
	}
	return nil
}

// addDirs makes directories, one in the other, in a new directory: to walk to each of many
// would take long.
func (n *node) addDirs(c *cred, names []string) error {
	d := n.owner
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range names {
		if len(name) > maxName {
			return syscall.ENAMETOOLONG
		}
		if err := c.may(n, mayWrite|mayExec); err != nil {
			return err
		}
		next := n.children[name]
		if next == nil {
			var err error
			if next, err = d.add(n, name, n.mode, c); err != nil {
				return err
			}
		}
		if n = next; !n.isDir() { // another process created a file of that name
			return syscall.ENOTDIR
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
	infos, err := at.entries(c)
	if err != nil {
		return nil, err
	}
	t.mu.RLock()
	mounts := t.mounts
	t.mu.RUnlock()
	if len(mounts) == 0 {
		return infos, nil
	}
	for i, info := range infos {
		if m, ok := mounts[path.Join(at.path, info.name)]; ok {
			m.dir.mu.RLock()
			infos[i] = m.node.info(info.name)
			m.dir.mu.RUnlock()
		}
	}
	return infos, nil
}

// entries returns what a directory contains, without what is mounted in it.
func (at place) entries(c *cred) ([]fileInfo, error) {
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
