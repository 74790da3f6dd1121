package oomkill

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/procfs"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestEventsFile(t *testing.T) {
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
		want   string // empty = an error
	}{
		"version 2":                       {[]procfs.Cgroup{{Path: "/user.slice/a"}}, []*procfs.MountInfo{v2("/", "/sys/fs/cgroup")}, "/sys/fs/cgroup/user.slice/a/memory.events"},
		"version 2 in a container":        {[]procfs.Cgroup{{Path: "/"}}, []*procfs.MountInfo{v2("/", "/sys/fs/cgroup")}, "/sys/fs/cgroup/memory.events"},
		"version 1":                       {memoryGroup("/job/1"), []*procfs.MountInfo{other, v2("/", "/sys/fs/cgroup/unified"), v1("/", "/sys/fs/cgroup/memory")}, "/sys/fs/cgroup/memory/job/1/memory.oom_control"},
		"version 1 in a container":        {memoryGroup("/docker/1"), []*procfs.MountInfo{other, v1("/docker/1", "/sys/fs/cgroup/memory")}, "/sys/fs/cgroup/memory/memory.oom_control"},
		"a mount of another part":         {memoryGroup("/docker/1"), []*procfs.MountInfo{v1("/dock", "/sys/fs/cgroup/memory")}, ""},
		"no mount, as with an empty /sys": {memoryGroup("/docker/1"), nil, ""},
		"no groups":                       {nil, []*procfs.MountInfo{other}, ""},
	} {
		if got, err := eventsFile(tt.groups, tt.mounts); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, tt.want)
		}
	}
}

func TestStartPreferred(t *testing.T) {
	score := func() string { return strings.TrimSpace(testutil.ReadFile(t, scoreFile)) }
	before := score()
	var out strings.Builder
	cmd := exec.CommandContext(t.Context(), "cat", scoreFile)
	cmd.Stdout = &out
	if err := startPreferred(cmd.Start); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	own, err := strconv.Atoi(before)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSpace(out.String()), strconv.Itoa(min(own+preference, maxScore)); got != want {
		t.Errorf("the score of the process is %s, want %s", got, want)
	}
	if after := score(); after != before {
		t.Errorf("the score of this process is %s, was %s", after, before)
	}
}

func TestParseKills(t *testing.T) {
	for text, want := range map[string]uint64{
		"low 0\nhigh 0\nmax 7\noom 2\noom_kill 3\noom_group_kill 1\n": 3,
		"oom_kill_disable 0\nunder_oom 0\noom_kill 12\n":              12,
	} {
		if got, err := parseKills(text); got != want || err != nil {
			t.Errorf("%q: got %d, %v", text, got, err)
		}
	}
	if _, err := parseKills("oom_kill_disable 0\nunder_oom 0\n"); err == nil { // before Linux 4.13
		t.Error("no error without a count")
	}
}

func TestCounter(t *testing.T) {
	n, err := uint64(3), error(nil)
	read := func() (uint64, error) { return n, err }
	c := newCounter(read)
	if c.Any() {
		t.Error("counts what was before")
	}
	n++
	if !c.Any() {
		t.Error("does not count")
	}
	if err = errors.New("gone"); c.Any() || newCounter(read).Any() {
		t.Error("counts without a count")
	}
}
