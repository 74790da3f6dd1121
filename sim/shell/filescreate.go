package shell

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"sort"
	"strings"
	"syscall"
)

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
		n, err := t.create(c, until(i+1), fs.ModeDir|perm&modeBits, "")
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
