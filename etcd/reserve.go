package etcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ctrlplane/ctrlplane/internal/fileerror"
)

const (
	// reserveBytes is how much of the disk the database's file occupies beyond what it
	// uses.
	reserveBytes = segmentBytes
	// logFileBytes is how much a file of the log occupies: its last write, of all that
	// clients have sent at once, goes beyond the size of a segment.
	logFileBytes = segmentBytes + 2<<20
)

// errNoRoom is the error of a reserve that cannot be allocated.
var errNoRoom = errors.New("cannot allocate space")

// reserve keeps space allocated for the writes that were admitted before the disk became
// full: etcd ends when it cannot write them to the log and, up to 100 ms later, to the
// database.
type reserve struct {
	dir      string // of the member
	db       int64  // bytes that are allocated from the beginning of the database's file
	snapshot *snapshotRoom
}

// dbFile returns the path of the database's file.
func dbFile(dir string) string { return filepath.Join(dir, "member", "snap", "db") }

// logDir returns the folder of the log.
func logDir(dir string) string { return filepath.Join(dir, "member", "wal") }

// ensure allocates what of the reserve was used since, where used is how much of the
// database's file has data. The error is errNoRoom if the disk or a quota has none left.
func (r *reserve) ensure(used int64) error {
	return errors.Join(r.ensureDB(used), r.ensureLog(), r.snapshot.ensure())
}

func (r *reserve) ensureDB(used int64) error {
	if r.db-used >= reserveBytes {
		return nil
	}
	wanted := used + reserveBytes + measureBytes // not again at each look
	if err := allocateFile(dbFile(r.dir), os.O_WRONLY, wanted); err != nil {
		return err
	}
	r.db = wanted
	return nil
}

// ensureLog allocates the file that the log is written to, the next one, which etcd has
// created, and the one after that: etcd creates it, 0.tmp or 1.tmp in turn, when it begins
// to use the one before, and uses what is there. If it could not, the log would end with
// the next file, even if there is space again.
func (r *reserve) ensureLog() error {
	written, err := filepath.Glob(filepath.Join(logDir(r.dir), "*.wal"))
	if err != nil {
		return err
	}
	if len(written) > 0 {
		err = allocateFile(written[len(written)-1], os.O_WRONLY, logFileBytes)
		if errors.Is(err, fs.ErrNotExist) { // etcd has removed it, as it has newer ones
			err = nil
		}
	}
	for _, next := range []string{"0.tmp", "1.tmp"} {
		err = errors.Join(err, allocateFile(filepath.Join(logDir(r.dir), next), os.O_WRONLY|os.O_CREATE, logFileBytes))
	}
	return err
}

// allocateFile allocates the first bytes of a file. Where the system cannot, it does
// nothing.
func allocateFile(path string, flags int, bytes int64) error {
	if !canAllocate {
		return nil
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return explainNoRoom(err)
	}
	err = allocate(f, bytes)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(explainNoRoom(err), f.Close())
}

func explainNoRoom(err error) error {
	if fileerror.IsDiskFull(err) {
		return fmt.Errorf("%w: %w", errNoRoom, err)
	}
	return err
}
