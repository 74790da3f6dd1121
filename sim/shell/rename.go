package shell

import (
	"cmp"
	"errors"
	"path"
	"strings"
	"syscall"
)

// Remove implements [Files].
func (t *tree) Remove(name string) error { return pathError("remove", name, t.remove(nil, "/"+name)) }

func (t *tree) remove(c *cred, name string) error {
	at, err := t.existing(c, trimSlashes(name), false, true)
	if err != nil {
		return err
	}
	switch base := path.Base(name); {
	case base == "." && at.parent != nil:
		return syscall.EINVAL
	case base == ".." && at.parent != nil:
		return syscall.ENOTEMPTY
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

// isDots reports whether a name is the one of the directory itself or of its parent. The
// kernel does not remove or rename a directory by such a name.
func isDots(base string) bool { return base == "." || base == ".." }

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
	case isDots(path.Base(oldName)), isDots(path.Base(newName)):
		return syscall.EBUSY
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
