package memory

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/prometheus/procfs"

	"github.com/ctrlplane/ctrlplane/internal/memorygroup"
)

// The fields of memory.stat that count memory which the kernel cannot take from processes without swapping.
var (
	fieldsV1 = []string{"total_rss", "total_shmem"}
	fieldsV2 = []string{"anon", "shmem"}
)

// othersInGroup returns a function that says how much memory the other processes use that share a limit, and the kernel
// cannot take from them, in bytes; 0 if it is not known.
func othersInGroup(limit uint64) func() uint64 {
	group, err := memorygroup.Own()
	self, selfErr := procfs.Self()
	if err != nil || selfErr != nil {
		return func() uint64 { return 0 }
	}
	group = group.WithLimit(limit)
	fields := fieldsV2
	if group.V1 {
		fields = fieldsV1
	}
	return func() uint64 {
		stat, err := os.ReadFile(filepath.Join(group.Dir, "memory.stat"))
		status, statusErr := self.NewStatus()
		if err != nil || statusErr != nil {
			return 0
		}
		all, own := sumFields(stat, fields), status.RssAnon+status.RssShmem
		return all - min(all, own)
	}
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
