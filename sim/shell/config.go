package shell

import (
	"context"
	"errors"
	"io"
	"syscall"
)

// ErrUnknownProgram is returned by [Run] for a command that the engine does not
// know: what the image would have run.
var ErrUnknownProgram = errors.New("executable file not found in $PATH")

// ErrNoNetwork says why something cannot be reached.
var ErrNoNetwork = errors.New("this container is simulated and has no network")

// ErrBadAddress means that a host name does not exist. The name follows.
var ErrBadAddress = errors.New("bad address")

// Config describes one command to run in a container.
type Config struct {
	// Args are the program and its arguments.
	Args []string
	// Env is the environment, as NAME=value. PATH, HOME and HOSTNAME have
	// defaults.
	Env []string
	// Dir is the working directory; "" = "/". It is created if it is missing,
	// as container runtimes do.
	Dir string
	// FS is the file system of the container; nil = an empty one of its own.
	FS *FS
	// Stdin is the standard input; nil = empty. Run may leave a read of it
	// pending when it returns: close it afterwards.
	Stdin io.Reader
	// Stdout and Stderr receive the output; nil = discarded. Writes to one of
	// them are serialized; if both are the same writer, all are. A write that
	// blocks cannot be interrupted.
	Stdout, Stderr io.Writer
	// TTY makes Stdin and Stdout a terminal: echo, line editing, ^C, ^D, and
	// "\r\n" at the end of lines. A shell without arguments is interactive then.
	TTY bool
	// TerminalSize returns the size of the terminal, zeros if it is not known. It must return soon once its context is done; nil =
	// it is not known.
	TerminalSize func(ctx context.Context) (rows, columns int)
	// Hostname is what hostname prints; "" = "localhost".
	Hostname string
	// User, Group and Groups are the IDs that the command runs with.
	User, Group int
	Groups      []int
	// Processes is the process table of the container, shared by its command
	// and every exec; nil = one of its own. The first command in it is PID 1.
	Processes *Processes
	// Signals delivers signals to the command; KILL ends it at once. nil = none.
	Signals <-chan syscall.Signal
	// OnWait is called once, when the command first waits for time or input. A job in the background does
	// not count until the command waits for it. It must not block; nil = not called.
	OnWait func()
	// Lookup, Get and Connect must return soon once their context is done.
	// Lookup resolves a host name for nslookup, wget and curl; nil = they
	// report that the network is missing.
	Lookup func(ctx context.Context, host string) ([]string, error)
	// Get answers wget and curl; nil = they report that the network is missing.
	Get func(ctx context.Context, url string) (status int, body []byte, err error)
	// Connect tells nc -z why nothing listens; nil = it reports that the network is
	// missing.
	Connect func(ctx context.Context, host string, port int) error
	// Answers tells ping whether an address answers. It must not block; nil = ping reports
	// that the network is missing.
	Answers func(address string) bool
	// Limits bound what the command costs.
	Limits Limits
}

// Limits bound what one command costs. Zero fields have defaults.
type Limits struct {
	// CPUShare is the share of one core that the command gets once it has
	// used its burst of 200 ms; 0 = 0.05. All commands of the process
	// together get at most a quarter of its cores. Both are a tenth of that
	// while more than half of the processors are in use or wanted.
	CPUShare float64
	// OutputRate is how many bytes per second go to Stdout and Stderr once
	// 4 MiB are written; 0 = 256 KiB.
	OutputRate int64
	// Memory bounds variables, functions and what programs hold, in bytes;
	// 0 = 16 MiB. A command that exceeds it ends with 137, OOMKilled.
	Memory int64
	// OpenFiles bounds files and pipes that are open; 0 = 256.
	OpenFiles int
	// Depth bounds nested functions, subshells, evals and shells; 0 = 200.
	Depth int
	// Processes bounds background jobs, elements of pipelines and programs
	// that run at the same time; 0 = 64.
	Processes int
	// Steps ends the command with 137 after so many steps, roughly statements;
	// 0 = no limit.
	Steps int64
}

// Reasons of a [Result], as in the status of a terminated container.
const (
	Completed = "Completed"
	Error     = "Error"
	OOMKilled = "OOMKilled"
)

// Result is how a command ended.
type Result struct {
	// ExitCode is 128 plus the number of the signal if one ended the command.
	ExitCode int
	// Reason is Completed, Error or OOMKilled.
	Reason string
}
