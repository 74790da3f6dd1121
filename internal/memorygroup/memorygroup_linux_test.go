package memorygroup

import (
	"testing"

	"github.com/prometheus/procfs"
)

func TestFind(t *testing.T) {
	v1 := func(root, at string) *procfs.MountInfo {
		return &procfs.MountInfo{FSType: "cgroup", Root: root, MountPoint: at, SuperOptions: map[string]string{"rw": "", "memory": ""}}
	}
	v2 := func(root, at string) *procfs.MountInfo {
		return &procfs.MountInfo{FSType: "cgroup2", Root: root, MountPoint: at}
	}
	other := &procfs.MountInfo{FSType: "cgroup", Root: "/", MountPoint: "/sys/fs/cgroup/cpu", SuperOptions: map[string]string{"cpu": ""}}
	memoryGroup := func(path string) []procfs.Cgroup {
		return []procfs.Cgroup{{HierarchyID: 9, Controllers: []string{"cpu"}, Path: "/x"}, {HierarchyID: 4, Controllers: []string{"memory"}, Path: path}, {Path: "/"}}
	}
	for name, tt := range map[string]struct {
		groups []procfs.Cgroup
		mounts []*procfs.MountInfo
		want   Group // empty = an error
	}{
		"version 2":                       {[]procfs.Cgroup{{Path: "/user.slice/a"}}, []*procfs.MountInfo{v2("/", "/sys/fs/cgroup")}, Group{"/sys/fs/cgroup/user.slice/a", false}},
		"version 2 in a container":        {[]procfs.Cgroup{{Path: "/"}}, []*procfs.MountInfo{v2("/", "/sys/fs/cgroup")}, Group{"/sys/fs/cgroup", false}},
		"version 1":                       {memoryGroup("/job/1"), []*procfs.MountInfo{other, v2("/", "/sys/fs/cgroup/unified"), v1("/", "/sys/fs/cgroup/memory")}, Group{"/sys/fs/cgroup/memory/job/1", true}},
		"version 1 in a container":        {memoryGroup("/docker/1"), []*procfs.MountInfo{other, v1("/docker/1", "/sys/fs/cgroup/memory")}, Group{"/sys/fs/cgroup/memory", true}},
		"a mount of another part":         {memoryGroup("/docker/1"), []*procfs.MountInfo{v1("/dock", "/sys/fs/cgroup/memory")}, Group{}},
		"no mount, as with an empty /sys": {memoryGroup("/docker/1"), nil, Group{}},
		"no groups":                       {nil, []*procfs.MountInfo{other}, Group{}},
	} {
		if got, err := find(tt.groups, tt.mounts); got != tt.want || (err == nil) != (tt.want != Group{}) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, tt.want)
		}
	}
}
