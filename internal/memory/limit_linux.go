package memory

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/prometheus/procfs"
)

// groupVersion is how a version of control groups reports memory.
type groupVersion struct {
	root string
	// fields of memory.stat that count memory which the kernel cannot take from processes without swapping
	fields []string
}

var (
	groupV1 = groupVersion{"/sys/fs/cgroup/memory", []string{"total_rss", "total_shmem"}}
	groupV2 = groupVersion{"/sys/fs/cgroup", []string{"anon", "shmem"}}
)

// othersInGroup returns a function that says how much memory the other processes of the control group use and the
// kernel cannot take from them, in bytes; 0 if it is not known.
func othersInGroup() func() uint64 {
	self, err := procfs.Self()
	if err != nil {
		return func() uint64 { return 0 }
	}
	file, fields := groupStat(self)
	return func() uint64 {
		stat, err := os.ReadFile(file)
		status, statusErr := self.NewStatus()
		if err != nil || statusErr != nil {
			return 0
		}
		all, own := sumFields(stat, fields), status.RssAnon+status.RssShmem
		return all - min(all, own)
	}
}

// groupStat returns the file memory.stat of the process' control group, and which of its fields count. In a container the
// group may be mounted as if it were the root.
func groupStat(self procfs.Proc) (file string, fields []string) {
	groups, _ := self.Cgroups() // without any there is no file either
	for _, g := range groups {
		version := groupV2
		if g.HierarchyID != 0 {
			version = groupV1
			if !slices.Contains(g.Controllers, "memory") {
				continue
			}
		}
		for _, dir := range []string{g.Path, ""} {
			file = filepath.Join(version.root, dir, "memory.stat")
			if _, err := os.Stat(file); err == nil {
				return file, version.fields
			}
		}
	}
	return file, nil
}

// sumFields adds up fields of a file with a name and a number in each line.
func sumFields(stat []byte, fields []string) (sum uint64) {
	for line := range bytes.Lines(stat) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		if slices.Contains(fields, string(name)) {
			n, _ := strconv.ParseUint(string(value), 10, 64) // 0 if the kernel writes something else
			sum += n
		}
	}
	return sum
}
