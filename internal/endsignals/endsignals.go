// Package endsignals says which signals end a program of this project.
package endsignals

import (
	"os"
	"os/signal"
	"syscall"
)

// hangupIgnored is read before anything listens for the signal.
var hangupIgnored = signal.Ignored(syscall.SIGHUP)

// HangupIgnored reports whether the process was started with SIGHUP ignored, as nohup does, so that it
// survives the end of its terminal. To listen for the signal would undo that, also for the
// programs that this process starts.
func HangupIgnored() bool { return hangupIgnored }

// List returns the signals that end this process.
func List() []os.Signal {
	if hangupIgnored {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}
