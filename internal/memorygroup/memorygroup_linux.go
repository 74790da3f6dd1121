// Package memorygroup finds what the kernel says of the memory of this process' control group, of version 1 or 2.
package memorygroup

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
)

// Group is a control group that has the memory controller.
type Group struct {
	Dir string // where its files are
	V1  bool   // it is in a hierarchy of version 1, with other names of files and fields
}

// Own returns the control group of this process.
func Own() (Group, error) {
	self, err := procfs.Self()
	if err != nil {
		return Group{}, err
	}
	groups, err := self.Cgroups()
	if err != nil {
		return Group{}, err
	}
	mounts, err := self.MountInfo()
	if err != nil {
		return Group{}, err
	}
	return find(groups, mounts)
}

// find returns the group among those that a process is in. In a hierarchy of version 1 the memory controller has its
// own mount.
func find(groups []procfs.Cgroup, mounts []*procfs.MountInfo) (Group, error) {
	const controller = "memory"
	v1, fsType := true, "cgroup"
	at := slices.IndexFunc(groups, func(g procfs.Cgroup) bool { return slices.Contains(g.Controllers, controller) })
	if at < 0 {
		v1, fsType = false, "cgroup2"
		at = slices.IndexFunc(groups, func(g procfs.Cgroup) bool { return g.HierarchyID == 0 })
	}
	if at < 0 {
		return Group{}, errors.New("no control group with a limit for memory")
	}
	for _, m := range mounts {
		_, hasController := m.SuperOptions[controller]
		// Where a part of the hierarchy is mounted, as in a container, paths may begin above it.
		inside, below := strings.CutPrefix(groups[at].Path, strings.TrimSuffix(m.Root, "/"))
		below = below && (inside == "" || inside[0] == '/')
		if m.FSType == fsType && (hasController || !v1) && below {
			return Group{path.Join(m.MountPoint, inside), v1}, nil
		}
	}
	return Group{}, fmt.Errorf("no mount of the control group %s", groups[at].Path)
}
