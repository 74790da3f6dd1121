package etcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

// minFreeBytes is what a start may write before the first client does: two log
// files, the first pages of the database, and some room.
const minFreeBytes = 3 * segmentBytes

// prepareDir makes the data folder and sees that it can be written to. It returns
// what a start that fails has to remove again, if anything.
func prepareDir(dir string) (made string, err error) {
	if dir == "" {
		return "", errors.New("neither a data folder nor endpoints were given; give one of them")
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", withAdvice(dir, err)
		}
		made = dir
	case err != nil:
		return "", withAdvice(dir, err)
	case !info.IsDir():
		return "", fmt.Errorf("%s is a file, not a folder; name another data folder", dir)
	}
	if err := fileutil.IsDirWriteable(dir); err != nil {
		return made, withAdvice(dir, err)
	}
	if free, ok := freeBytes(dir); ok && free < minFreeBytes {
		return made, fmt.Errorf("the disk of %s has %d MiB free and a start needs %d; free space and start again", dir, free>>20, minFreeBytes>>20)
	}
	if m := filepath.Join(dir, "member"); made == "" && !fileutil.Exist(m) {
		made = m
	}
	return made, nil
}

// raftIndexes is how far the files of a member reach, as indexes of raft entries.
type raftIndexes struct {
	applied    uint64 // the last entry the database holds
	replayFrom uint64 // the entry after which the log has to be replayed
	logged     uint64 // the last entry the log holds
	neverBegan bool   // there is a log, but the first write to it was cut short
}

// inspectFiles reads the files of the member in dir and returns an error for what
// etcd would panic on, or worse, start with.
func inspectFiles(dir string) (raftIndexes, error) {
	dbPath := filepath.Join(dir, "member", "snap", "db")
	logDir := filepath.Join(dir, "member", "wal")

	var c raftIndexes
	if fileutil.Exist(dbPath) {
		db, err := inspectDB(dbPath)
		if err != nil {
			return c, damageError(dir, err)
		}
		if v := db.newerVersion(); v != "" {
			return c, fmt.Errorf("%s was written by etcd %s, newer than the %s in this program; use a newer program or another data folder", dir, v, version.Version)
		}
		c.applied = db.applied
	}
	if !wal.Exist(logDir) {
		if c.applied > 0 {
			return c, damageError(dir, fmt.Errorf("%s has no write-ahead log", logDir))
		}
		return c, nil // the first start was cut short before anything was kept
	}
	if err := c.inspectLog(logDir); err != nil {
		return c, damageError(dir, err)
	}
	c.neverBegan = c.neverBegan && c.applied == 0
	if c.applied < c.replayFrom {
		return c, damageError(dir, fmt.Errorf("%s is missing or older than the write-ahead log: it ends at entry %d, the log begins at %d", dbPath, c.applied, c.replayFrom))
	}
	return c, nil
}

func damageError(dir string, err error) error {
	if advised := (*adviceError)(nil); errors.As(err, &advised) {
		return err
	}
	if refused := (*fs.PathError)(nil); errors.As(err, &refused) || errors.Is(err, syscall.ENOMEM) {
		return withAdvice(dir, err)
	}
	return &adviceError{err: err, advice: "restore " + dir + " from a backup or remove it to start empty"}
}
