package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// commandProcess is the command of a run, as a process.
type commandProcess struct {
	cmd         *exec.Cmd
	exited      chan struct{} // closed when it has
	err         error         // why it could not be waited for; final when ended is closed
	running     atomic.Bool
	groupID     int          // the process group it is in, 0 if that is not known
	sharedGroup bool         // whether we are in it, too
	groupBefore map[int]bool // who was in it before the command
}

// groupMember is one that a command left behind.
type groupMember struct {
	pid  int
	name string
}

// newCommandProcess finds the command before anything is started for it.
func newCommandProcess(args []string) (*commandProcess, error) {
	path, err := lookPath(args[0])
	if err != nil {
		return nil, newStartError(args[0], err)
	}
	cmd := &exec.Cmd{Path: path, Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	return &commandProcess{cmd: cmd, exited: make(chan struct{})}, nil
}

// lookPath does as execvp(3) does without a PATH.
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
	hint := "look into that"
	switch {
	case errors.Is(err, exec.ErrNotFound):
		hint = "give its path, or add its folder to PATH"
	case errors.Is(err, fs.ErrNotExist):
		hint = "check the path, and the interpreter if it is a script"
	case errors.Is(err, fs.ErrPermission):
		hint = "name a file that you may execute"
	}
	return fmt.Errorf("command %q cannot be run: %w: %s", name, err, hint)
}

// startExitCode is the exit code for a command that did not start.
func startExitCode(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, exec.ErrDot) || errors.Is(err, fs.ErrNotExist) {
		return exitNotFound
	}
	return exitNotExecutable
}

// start starts the command as a client of the control plane.
func (c *commandProcess) start(kubeconfig, url string) error {
	c.cmd.Env = append(os.Environ(),
		"KUBECONFIG="+kubeconfig,
		"CTRLPLANE_URL="+url,
		dataDirEnv+"="+filepath.Dir(kubeconfig),
		"USE_EXISTING_CLUSTER=true")
	c.configureGroup()
	if err := c.cmd.Start(); err != nil {
		return newStartError(c.cmd.Args[0], err)
	}
	c.recordGroup()
	c.running.Store(true)
	go func() {
		defer close(c.exited)
		err := c.cmd.Wait()
		c.running.Store(false)
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			c.err = err
		}
	}()
	return nil
}

// exitCode is the command's exit code once it has ended.
func (c *commandProcess) exitCode() (int, error) {
	if c.err != nil {
		return exitFailure, fmt.Errorf("the command's end is not known: %w", c.err)
	}
	return stateExitCode(c.cmd.ProcessState), nil
}

// reportLeftovers names what outlives the command in its group.
func (c *commandProcess) reportLeftovers(w io.Writer) {
	if c.groupID == 0 {
		return
	}
	var left []string
	for _, p := range groupMembers(c.groupID) {
		if !c.groupBefore[p.pid] {
			left = append(left, fmt.Sprintf("%d (%s)", p.pid, p.name))
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(w, "ctrlplane: the command left processes behind that still run: %s\n", strings.Join(left, ", "))
	}
}
