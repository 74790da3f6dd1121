package datadir

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

const (
	stopCommand = "taskkill /F /PID %d"
	killCommand = stopCommand
)

// endProcess kills the process: Windows has no signal that asks one to end.
func endProcess(p *os.Process) error { return p.Kill() }

// claimStop claims nothing: to kill a process twice does no harm.
func claimStop(string) (release func(), asked bool) { return func() {}, false }

// isPrivateFile returns true, because the folder for temporary files belongs to the user.
func isPrivateFile(fs.FileInfo) bool { return true }

func readOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }
