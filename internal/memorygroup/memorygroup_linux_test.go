package memorygroup

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/procfs"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestFind(t *testing.T) {
	v1 := func(root, at string) string {
		return "30 20 0:26 " + root + " " + at + " rw,relatime shared:9 - cgroup cgroup rw,memory"
	}
	v2 := func(root, at string) string {
		return "30 20 0:26 " + root + " " + at + " rw,relatime - cgroup2 cgroup2 rw,nsdelegate"
	}
	const (
		other   = "31 20 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"
		windows = `32 20 0:28 / /Docker/host rw,noatime - 9p drvfs rw,dirsync,aname=drvfs;path=C:\Program Files\Docker,cache=5`
	)
	memoryGroup := func(path string) []procfs.Cgroup {
		return []procfs.Cgroup{{HierarchyID: 9, Controllers: []string{"cpu"}, Path: "/x"}, {HierarchyID: 4, Controllers: []string{"memory"}, Path: path}, {Path: "/"}}
	}
	for name, tt := range map[string]struct {
		groups []procfs.Cgroup
		mounts []string
		dir    string // empty = an error
		v1     bool
	}{
		"version 2":                       {[]procfs.Cgroup{{Path: "/user.slice/a"}}, []string{v2("/", "/sys/fs/cgroup")}, "/sys/fs/cgroup/user.slice/a", false},
		"version 2 in a container":        {[]procfs.Cgroup{{Path: "/"}}, []string{v2("/", "/sys/fs/cgroup")}, "/sys/fs/cgroup", false},
		"version 1":                       {memoryGroup("/job/1"), []string{other, v2("/", "/sys/fs/cgroup/unified"), v1("/", "/sys/fs/cgroup/memory")}, "/sys/fs/cgroup/memory/job/1", true},
		"version 1 in a container":        {memoryGroup("/docker/1"), []string{other, v1("/docker/1", "/sys/fs/cgroup/memory")}, "/sys/fs/cgroup/memory", true},
		"beside a mount of Windows":       {[]procfs.Cgroup{{Path: "/"}}, []string{windows, v2("/", "/sys/fs/cgroup")}, "/sys/fs/cgroup", false},
		"a mount point with a space":      {[]procfs.Cgroup{{Path: "/a"}}, []string{v2("/", `/my\040groups`)}, "/my groups/a", false},
		"a mount of another part":         {memoryGroup("/docker/1"), []string{v1("/dock", "/sys/fs/cgroup/memory")}, "", false},
		"no mount, as with an empty /sys": {memoryGroup("/docker/1"), nil, "", false},
		"no groups":                       {nil, []string{other}, "", false},
	} {
		got, err := find(tt.groups, strings.Join(tt.mounts, "\n")+"\n")
		if got.Dir != tt.dir || got.V1 != tt.v1 || (err == nil) != (tt.dir != "") {
			t.Errorf("%s: got %+v, %v, want %q", name, got, err, tt.dir)
		}
	}
}

func TestWithLimit(t *testing.T) {
	mount := t.TempDir()
	testutil.WriteFiles(t, mount, map[string]string{"memory.max": "max\n", "job/memory.max": "1000\n", "job/step/memory.max": "max\n"})
	own := Group{Dir: filepath.Join(mount, "job/step"), mount: mount}
	if got := own.WithLimit(1000); got.Dir != filepath.Join(mount, "job") {
		t.Errorf("got %s", got.Dir)
	}
	if got := own.WithLimit(7); got != own {
		t.Errorf("no such limit: got %s", got.Dir)
	}
}
