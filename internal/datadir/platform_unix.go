//go:build unix

package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ctrlplane/ctrlplane/internal/filelock"
)

const killCommand = "kill -9 %d"

// tempVariable is the environment variable that os.TempDir reads first.
const tempVariable = "TMPDIR"

// stopCommand returns the command that asks the process to end, in quotes.
func (e *LockedError) stopCommand() string { return fmt.Sprintf(`"kill %d"`, e.PID) }

// endProcess asks a process to end. One that is suspended, as by Ctrl-Z, has to continue to do so.
func endProcess(p *os.Process) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return p.Signal(syscall.SIGCONT)
}

// claimStop makes this the Stop that asks the process to end, until release, and reports whether
// another one is waiting for that already.
func claimStop(path string) (release func(), asked bool) {
	claim, err := filelock.TryLock(filepath.Join(path, pidFile), false)
	if err != nil { // without a claim it asks, too
		return func() {}, errors.Is(err, filelock.ErrHeld)
	}
	return func() { _ = claim.Close() }, false // nothing was written
}

// isPrivateFile reports whether the file belongs to this user and no other user can access it.
func isPrivateFile(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}

// isUnlinked reports whether an open file has no name any more.
func isUnlinked(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || stat.Nlink == 0
}
