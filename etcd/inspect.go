package etcd

import (
	"context"
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

// minFreeBytes is what a start needs: what it may write before any client does, the first
// pages of the database, its log and the reserve, and enough for clients to write.
const minFreeBytes = enoughDiskBytes + 5*segmentBytes

// prepareDir creates the data folder and checks that it is writable. It returns the
// path that a start has to remove if it fails, if any.
func prepareDir(dir, otherDisk string) (created string, err error) {
	if dir == "" {
		return "", errors.New("neither a data folder nor endpoints are given: give one of them")
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", withAdvice(dir, err)
		}
		created = dir
	case err != nil:
		return "", withAdvice(dir, err)
	case !info.IsDir():
		return "", fmt.Errorf("%s is a file, not a folder: use another data folder", dir)
	}
	if err := fileutil.IsDirWriteable(dir); err != nil {
		return created, withAdvice(dir, err)
	}
	if free, ok := freeBytes(dir); ok && free < minFreeBytes {
		return created, fmt.Errorf("the disk of %s has %d MiB free and a start needs %d MiB: free space%s and start again", dir, free>>20, minFreeBytes>>20, orElse(otherDisk))
	}
	if m := filepath.Join(dir, "member"); created == "" && !fileutil.Exist(m) {
		created = m
	}
	return created, nil
}

// orElse is another remedy in an error; empty if there is none.
func orElse(remedy string) string {
	if remedy == "" {
		return ""
	}
	return ", or " + remedy + ","
}

// raftIndexes describes how far the files of a member reach, as indexes of raft
// entries.
type raftIndexes struct {
	applied    uint64 // the last entry that the database has
	replayFrom uint64 // the entry after which the log must be replayed
	logged     uint64 // the last entry that the log has
	neverBegan bool   // there is a log, but the first write to it was cut short
}

// inspectFiles reads the files of the member in dir. It returns an error for damage on
// which etcd would panic or, worse, which it would not notice.
func inspectFiles(ctx context.Context, dir string) (raftIndexes, error) {
	dbPath := dbFile(dir)
	logs := logDir(dir)

	var c raftIndexes
	if fileutil.Exist(dbPath) {
		db, err := inspectDB(ctx, dbPath)
		if ctx.Err() != nil {
			return c, stoppedWaitingError(ctx)
		}
		if err != nil {
			return c, damageError(dir, err)
		}
		if v := db.newerVersion(); v != "" {
			return c, fmt.Errorf("%s was written by etcd %s, and this program has etcd %s: use a newer program or another data folder", dir, v, version.Version)
		}
		c.applied = db.applied
	}
	if !wal.Exist(logs) {
		if c.applied > 0 {
			return c, damageError(dir, fmt.Errorf("%s has no write-ahead log", logs))
		}
		return c, nil // the first start was interrupted before anything was written
	}
	if err := c.inspectLog(logs); err != nil {
		return c, damageError(dir, err)
	}
	c.neverBegan = c.neverBegan && c.applied == 0
	if c.applied < c.replayFrom {
		return c, damageError(dir, fmt.Errorf("%s is missing or older than the write-ahead log: it ends at entry %d, and the log begins at entry %d", dbPath, c.applied, c.replayFrom))
	}
	return c, nil
}

func damageError(dir string, err error) error {
	if _, advised := errors.AsType[*adviceError](err); advised {
		return err
	}
	if _, refused := errors.AsType[*fs.PathError](err); refused || errors.Is(err, syscall.ENOMEM) {
		return withAdvice(dir, err)
	}
	return &adviceError{err: err, advice: recoverAdvice(dir)}
}
