package etcd

import (
	"fmt"
	"os"
)

const (
	// growBytes is how much larger than its used part bbolt makes the database's file,
	// with the reserve: what has to be left of a limit of file sizes.
	growBytes = 16<<20 + reserveBytes
	// minFileBytes is the smallest limit of file sizes with which a member starts. A file
	// of the log takes segmentBytes and a record, the rest is for the database.
	minFileBytes = 64 << 20
)

// fileLimit is the limit of file sizes that the member's quota respects: a database that
// is full by that quota is smaller than the limit.
type fileLimit struct {
	dir   string
	read  func() (bytes int64, limited bool)
	quota int64 // of the database, as configured
}

func newFileLimit(cfg Config) *fileLimit {
	l := &fileLimit{dir: cfg.Dir, read: cfg.fileSizeLimit, quota: defaultQuotaBytes}
	if l.read == nil {
		l.read = fileSizeLimit
	}
	if cfg.quotaBytes > 0 {
		l.quota = cfg.quotaBytes
	}
	return l
}

// check returns why a member cannot start, and lowers the quota to what the limit allows.
func (l *fileLimit) check() error {
	limit, limited := l.read()
	if !limited {
		return nil
	}
	if needed := max(minFileBytes, l.fileBytes()); limit < needed {
		return fmt.Errorf("the files of this process may have %d MiB, and etcd needs %d MiB: raise the limit of file sizes (ulimit -f) and start again", limit>>20, ceilMiB(needed))
	}
	l.quota = min(l.quota, limit-growBytes)
	return nil
}

// shortage returns why no write may be admitted: the limit was lowered since the start.
// Empty = it was not, or not enough to matter.
func (l *fileLimit) shortage() string {
	limit, limited := l.read()
	if !limited || limit >= l.quota+growBytes {
		return ""
	}
	needed := max(minFileBytes, l.fileBytes()+growBytes)
	if limit >= needed {
		return ""
	}
	return fmt.Sprintf("all writes are refused: the files of this process may have %d MiB, and etcd needs %d MiB: raise the limit of file sizes of the process", limit>>20, ceilMiB(needed))
}

// fileBytes returns the size of the database's file; 0 = it does not exist yet.
func (l *fileLimit) fileBytes() int64 {
	info, err := os.Stat(dbFile(l.dir))
	if err != nil {
		return 0
	}
	return info.Size()
}

func ceilMiB(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }
