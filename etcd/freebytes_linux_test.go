package etcd

import (
	"syscall"
	"testing"
)

func TestAvailableBytes(t *testing.T) {
	for name, test := range map[string]struct {
		st    syscall.Statfs_t
		want  uint64
		known bool
	}{
		"ext4":             {syscall.Statfs_t{Blocks: 100, Bavail: 10, Bsize: 4096, Frsize: 4096}, 40960, true},
		"virtiofs":         {syscall.Statfs_t{Blocks: 100, Bavail: 10, Bsize: 1 << 20, Frsize: 4096}, 40960, true},
		"without a Frsize": {syscall.Statfs_t{Blocks: 100, Bavail: 10, Bsize: 4096}, 40960, true},
		"full":             {syscall.Statfs_t{Blocks: 100, Bsize: 4096, Frsize: 4096}, 0, true},
		"without sizes":    {syscall.Statfs_t{Bsize: 4096, Frsize: 4096}, 0, false},
	} {
		if got, known := availableBytes(&test.st); got != test.want || known != test.known {
			t.Errorf("%s: got %d, %v; want %d, %v", name, got, known, test.want, test.known)
		}
	}
}
