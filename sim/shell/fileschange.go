package shell

import (
	"io/fs"
	"syscall"
	"time"
)

// modeBits are the bits of a mode that chmod changes.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// Chmod implements [Files].
func (t *tree) Chmod(name string, mode fs.FileMode) error {
	return pathError("chmod", name, t.chmod(nil, "/"+name, mode))
}

func (t *tree) chmod(c *cred, name string, mode fs.FileMode) error {
	return t.change(name, c, func(n *node) error {
		if err := c.owns(n); err != nil {
			return err
		}
		n.mode = n.mode&^modeBits | mode&modeBits
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
