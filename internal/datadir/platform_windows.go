package datadir

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/ctrlplane/ctrlplane/internal/stopevent"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

const killCommand = "taskkill /F /PID %d"

// tempVariable is the environment variable that os.TempDir reads first.
const tempVariable = "TMP"

// stopCommand returns the command that asks the process to end, in quotes: without /F, taskkill asks only
// those that have a window.
func (e *LockedError) stopCommand() string {
	return fmt.Sprintf("'ctrlplane --data-dir %s down'", words.Path(e.Path))
}

// endProcess asks the process to end, as far as it listens: a program that uses the library is
// killed, for Windows has no signal for that.
func endProcess(p *os.Process) error {
	if stopevent.Request(p.Pid) == nil {
		return nil
	}
	return p.Kill()
}

// claimStop claims nothing: to ask a process twice does no harm.
func claimStop(string) (release func(), asked bool) { return func() {}, false }

// isPrivateFile returns true, because the folder for temporary files belongs to the user.
func isPrivateFile(fs.FileInfo) bool { return true }

// isUnlinked reports whether an open file has no name any more; a folder with open files is not renamed there.
func isUnlinked(fs.FileInfo) bool { return true }
