package shell

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Processes is the process table of a container.
type Processes struct{}

// NewProcesses returns an empty process table.
func NewProcesses() *Processes { return &Processes{} }

// Runs reports whether the engine knows the program of a command: one of its
// own programs or a shell.
func Runs(args []string) bool { return false }

// RunsFile is like Runs for a container with a file system: the program may
// also be a script in it that names a shell in its first line.
func RunsFile(fs *FS, args []string) bool { return false }

// Unknown returns the names of the programs that a command needs and the
// engine does not know: the program itself, and the literal command names in a
// script that "sh -c" gets.
func Unknown(args []string) []string { return nil }

// Sleeps reports whether a command does nothing but sleep, such as "sleep 1h"
// or sh -c "sleep infinity", and for how long; forever is a negative duration. A
// caller can then keep a timer instead of calling Run.
func Sleeps(args []string) (d time.Duration, ok bool) { return 0, false }

// Run runs a command until it ends, is killed, or ctx is done, which is like
// KILL. It returns when everything that it started has ended. The error says
// that the command could not be started; it wraps [ErrUnknownProgram] if the
// engine does not know the program.
func Run(ctx context.Context, c Config) (Result, error) {
	if len(c.Args) == 0 {
		return Result{}, errors.New("no command")
	}
	return Result{}, fmt.Errorf("exec: %q: %w", c.Args[0], ErrUnknownProgram)
}
