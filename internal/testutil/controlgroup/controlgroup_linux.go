// Package controlgroup makes control groups whose processes have little memory.
package controlgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// Group is a control group of its own, of version 1 or 2.
type Group struct{ dir string }

// New returns a group whose processes may use so many bytes of memory. It fails where the caller may not
// make one. Remove must follow, once all processes in it have ended.
func New(memory int64) (*Group, error) {
	root, limit := "/sys/fs/cgroup", "memory.max"
	if _, err := os.Stat(filepath.Join(root, "memory")); err == nil { // version 1
		root, limit = filepath.Join(root, "memory"), "memory.limit_in_bytes"
	}
	dir, err := os.MkdirTemp(root, "ctrlplane-test-")
	if err != nil {
		return nil, err
	}
	g := &Group{dir}
	f, err := os.OpenFile(filepath.Join(dir, limit), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(strconv.FormatInt(memory, 10))
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}
	if err != nil {
		_ = g.Remove()
		return nil, err
	}
	// Nor may they swap, where the kernel can limit that.
	_ = os.WriteFile(filepath.Join(dir, "memory.swap.max"), []byte("0"), 0)
	_ = os.WriteFile(filepath.Join(dir, "memory.memsw.limit_in_bytes"), []byte(strconv.FormatInt(memory, 10)), 0)
	return g, nil
}

// Enter makes cmd, which has not started, run in the group from its first instruction.
func (g *Group) Enter(cmd *exec.Cmd) error {
	sh, err := exec.LookPath("sh")
	if err != nil {
		return err
	}
	cmd.Args = append([]string{"sh", "-c", `echo $$ > "$0"/cgroup.procs && exec "$@"`, g.dir, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = sh
	return nil
}

// Remove removes the group.
func (g *Group) Remove() error { return os.Remove(g.dir) }
