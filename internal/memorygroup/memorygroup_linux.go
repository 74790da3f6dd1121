// Package memorygroup finds what the kernel says of the memory of this process' control group, of version 1 or 2.
package memorygroup

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// Group is a control group that has the memory controller.
type Group struct {
	Dir string // where its files are
	V1  bool   // it is in a hierarchy of version 1, with other names of files and fields

	mount string // Dir of the highest group that can be seen
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
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Group{}, err
	}
	return find(groups, string(mounts))
}

// find returns the group among those that a process is in, given /proc/PID/mountinfo. In a hierarchy of version 1 the memory
// controller has its own mount.
func find(groups []procfs.Cgroup, mounts string) (Group, error) {
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
	for line := range strings.Lines(mounts) {
		m, ok := parseMount(line)
		if !ok || m.fsType != fsType || v1 && !slices.Contains(m.options, controller) {
			continue
		}
		// Where a part of the hierarchy is mounted, as in a container, paths may begin above it.
		inside, below := strings.CutPrefix(groups[at].Path, strings.TrimSuffix(m.root, "/"))
		if below && (inside == "" || inside[0] == '/') {
			return Group{path.Join(m.point, inside), v1, m.point}, nil
		}
	}
	return Group{}, fmt.Errorf("no mount of the control group %s", groups[at].Path)
}

type mount struct {
	root, point, fsType string
	options             []string // of the file system
}

// parseMount reads a line of mountinfo. The options of other file systems may contain spaces.
func parseMount(line string) (m mount, ok bool) {
	own, of, _ := strings.Cut(line, " - ")
	fields, fsFields := strings.Fields(own), strings.SplitN(strings.TrimSpace(of), " ", 3)
	if len(fields) < 5 || len(fsFields) < 3 {
		return mount{}, false
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`)
	return mount{fields[3], unescape.Replace(fields[4]), fsFields[0], strings.Split(fsFields[2], ",")}, true
}

// WithLimit returns the group, or the one above it, that has a limit in bytes; the group itself if none has that one.
func (g Group) WithLimit(limit uint64) Group {
	file := "memory.max"
	if g.V1 {
		file = "memory.limit_in_bytes"
	}
	for dir := g.Dir; strings.HasPrefix(dir, g.mount) && dir != "/"; dir = path.Dir(dir) {
		text, err := os.ReadFile(path.Join(dir, file))
		if n, parseErr := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil && parseErr == nil && n == limit {
			return Group{dir, g.V1, g.mount}
		}
	}
	return g
}
