package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/ctrlplane/ctrlplane/internal/oomkill"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// commandProcess is the process of a run's command.
type commandProcess struct {
	cmd         *exec.Cmd
	exited      chan struct{} // closed after the process has exited and its output was passed on
	err         error         // why waiting for it or passing on its output failed; final once exited is closed
	running     atomic.Bool
	ownGroup    bool         // it has a group of its own, also on a terminal
	groupID     int          // its process group, 0 if unknown
	sharedGroup bool         // whether ctrlplane is in that group, too
	groupBefore map[int]bool // the group's processes before the command started
	system      systemGroup  // what the system needs besides
	oomKills    oomkill.Counter

	passesOn   bool          // its output is passed on: see passOn
	ending     atomic.Bool   // the run is to end, and does not wait long for the output
	unread     chan struct{} // closed when the run waits no longer for the output
	skipOutput sync.Once     // closes unread
}

// groupMember is a process of the command's process group.
type groupMember struct {
	pid  int
	name string
}

// newCommandProcess finds the command, so that nothing is started if it does not
// exist.
func newCommandProcess(args []string) (*commandProcess, error) {
	path, err := lookPath(args[0])
	if err != nil {
		return nil, newStartError(args[0], err)
	}
	return newProcess(&exec.Cmd{Path: path, Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: stderr}), nil
}

func newProcess(cmd *exec.Cmd) *commandProcess {
	return &commandProcess{cmd: cmd, exited: make(chan struct{}), unread: make(chan struct{})}
}

// recordOutput makes the command write to what record returns instead of the files that it
// inherits.
func (c *commandProcess) recordOutput(record func(to io.Writer, stderr bool) io.Writer) {
	if sameFile(os.Stdout, stderr) {
		out := record(commandStderr{os.Stdout}, false)
		c.passOn(out, out)
		return
	}
	c.passOn(record(os.Stdout, false), record(commandStderr{stderr}, true))
}

// sameFile reports whether both are the same open file, so that one pipe keeps the order
// of what is written to them.
func sameFile(a, b *os.File) bool {
	infoA, errA := a.Stat()
	infoB, errB := b.Stat()
	// Windows identifies only files: it takes each pipe and console for the same.
	identified := runtime.GOOS != "windows" || errA == nil && infoA.Mode().IsRegular()
	return errA == nil && errB == nil && identified && os.SameFile(infoA, infoB)
}

// lookPath finds a program as execvp(3) does, also without a PATH.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if _, set := os.LookupEnv("PATH"); !set && err != nil && filepath.Base(name) == name {
		for _, dir := range []string{"/bin", "/usr/bin"} {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path, nil
			}
		}
	}
	return path, err
}

func newStartError(name string, err error) error {
	if lookup, ok := errors.AsType[*exec.Error](err); ok {
		err = lookup.Err
	}
	hint := "check that it can be executed"
	switch {
	case errors.Is(err, exec.ErrNotFound) && name == "kubectl":
		hint = "name the one of this program: " + programWord() + " kubectl"
	case errors.Is(err, exec.ErrNotFound):
		hint = "give its path, or add its folder to PATH"
	case errors.Is(err, fs.ErrNotExist):
		hint = "check the path, and the interpreter if it is a script"
	case errors.Is(err, fs.ErrPermission):
		hint = "name an executable file"
	case errors.Is(err, syscall.EAGAIN):
		hint = "raise the limit of processes: ulimit -u, or pids.max of the control group"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		hint = "raise the limit of open files: ulimit -n"
	case errors.Is(err, syscall.ENOMEM):
		hint = "free memory, or raise its limit: ulimit -v, or that of the control group"
	}
	return fmt.Errorf("cannot run command %q: %w: %s", name, err, hint)
}

// startExitCode is the exit code for a command that could not be started.
func startExitCode(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, exec.ErrDot) || errors.Is(err, fs.ErrNotExist) {
		return exitNotFound
	}
	return exitNotExecutable
}

// start starts the command, with the variables by which it finds the control plane.
func (c *commandProcess) start(kubeconfig, url string) error {
	c.cmd.Env = append(commandEnv(url),
		"KUBECONFIG="+kubeconfig,
		"CTRLPLANE_URL="+url,
		dataDirEnv+"="+filepath.Dir(kubeconfig),
		"USE_EXISTING_CLUSTER=true")
	return c.startProcess()
}

func (c *commandProcess) startProcess() error {
	c.configureGroup()
	outputs, err := c.openOutputs()
	if err != nil {
		return newStartError(c.cmd.Args[0], err)
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // see killWithParent
		defer runtime.UnlockOSThread()
		c.oomKills = oomkill.New()
		err := oomkill.Prefer(c.cmd.Start) // if the kernel ended ctrlplane, nothing could say why
		if err == nil {
			c.recordGroup()
			c.running.Store(true)
		}
		for _, o := range outputs {
			o.begin()
		}
		started <- err
		if err != nil {
			return
		}
		defer close(c.exited)
		c.err = c.wait(outputs)
	}()
	if err := <-started; err != nil {
		return newStartError(c.cmd.Args[0], err)
	}
	return nil
}

// wait returns when the command has exited and its output is passed on.
func (c *commandProcess) wait(outputs []*passedOutput) error {
	err := c.cmd.Wait()
	c.running.Store(false)
	if !c.ownGroup { // else the caller may stop what it has left running
		c.system.release()
	}
	outputErr := c.awaitOutputs(outputs)
	if isClosedOutput(outputErr) { // the command has received SIGPIPE, or was done
		outputErr = nil
	}
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		err = nil
	}
	return cmp.Or(err, outputErr)
}

// exitCode is the command's exit code, once it has exited.
func (c *commandProcess) exitCode() (int, error) {
	switch {
	case errors.Is(c.err, errOutputLost):
		return stateExitCode(c.cmd.ProcessState), c.err
	case c.err != nil && c.cmd.ProcessState != nil: // the error may have ended the command, by SIGPIPE
		return cmp.Or(stateExitCode(c.cmd.ProcessState), exitFailure), fmt.Errorf("the output of the command is incomplete: %w%s", c.err, outputHint(c.err))
	case c.err != nil:
		return exitFailure, fmt.Errorf("cannot determine the exit code of the command: %w", c.err)
	}
	return stateExitCode(c.cmd.ProcessState), nil
}

// outputHint says what to do about an output that cannot be written.
func outputHint(err error) string {
	if errors.Is(err, syscall.ENOSPC) {
		return ": free space there, or redirect it"
	}
	return ""
}

// reportLeftovers lists the processes of the group that outlive the command.
func (c *commandProcess) reportLeftovers(w io.Writer) {
	if c.groupID == 0 {
		return
	}
	var left []string
	for _, p := range groupMembers(c.groupID) {
		if !c.groupBefore[p.pid] {
			left = append(left, fmt.Sprintf("%d (%s)", p.pid, words.OneLine(p.name)))
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(w, "ctrlplane: the command left processes running: %s\n", strings.Join(left, ", "))
	}
}
