//go:build !windows

package learn

import (
	"io"
	"os"
	"os/exec"
	"syscall"
)

// shellHint says where there is a shell.
const shellHint = "add the folder that has it"

// pathEntry is a folder in the PATH of a shell.
func pathEntry(dir string) string { return quoteWord(dir) }

// interrupt ends a command as Ctrl-C does, with what it has started if it has a process group of its own.
func interrupt(cmd *exec.Cmd) error {
	if attr := cmd.SysProcAttr; attr != nil && attr.Setpgid {
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
	}
	return cmd.Process.Signal(os.Interrupt)
}

// setProcessGroup gives a command a process group of its own, so that the terminal does
// not send signals to it, and all of its processes can be stopped.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// processGroup is a command with all that it has started.
type processGroup struct{ id int }

// groupOf returns the group of a command that was just started.
func groupOf(cmd *exec.Cmd) processGroup { return processGroup{cmd.Process.Pid} }

// guard has the group killed if this process ends before the release, however that happens: what kills the group of this
// process, as timeout(1) and the runners of CI jobs do, does not reach the one of the command. The guard is a shell in the
// command's group that reads from a pipe, which the end of this process closes.
func (g processGroup) guard() (release func()) {
	cmd := exec.Command(interpreter[0], append(interpreter[1:len(interpreter):len(interpreter)], "read -r released || kill -KILL 0")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.id}
	pipe, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil { // the latter fails if the command has exited
		return func() {}
	}
	return func() { // it may have ended with the group
		_, _ = io.WriteString(pipe, "\n")
		_ = cmd.Wait()
	}
}

// These fail if the processes have exited.
func (g processGroup) terminate() { _ = syscall.Kill(-g.id, syscall.SIGTERM) }
func (g processGroup) kill()      { _ = syscall.Kill(-g.id, syscall.SIGKILL) }

// exists reports whether a process of the group exists: the first one may have ended.
func (g processGroup) exists() bool { return syscall.Kill(-g.id, 0) != syscall.ESRCH }
