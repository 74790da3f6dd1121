package shell

import (
	"io/fs"
	"maps"
	"path"
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
	// MkdirAll makes a directory, and those on the way to it, with perm and the setuid, setgid and sticky bits of it.
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
	if trimmed := strings.TrimRight(name, "/"); trimmed != "" || name == "" {
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

// Resolve returns the path of a file without links. Its last element may be missing.
func (t *tree) Resolve(name string) (string, error) {
	at, err := t.walk(nil, "/"+name, true, false)
	return at.path, pathError("resolve", name, err)
}

// Contains reports whether a file exists and the links on its path do not lead out of the Dir: as in one that is a folder of a
// machine, absolute ones do.
func (d *Dir) Contains(name string) bool {
	at, err := d.existing(nil, "/"+name, true, false)
	return err == nil && !at.outside
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
