//go:build !windows

package learn

import (
	"cmp"
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
		return syscall.Kill(-groupOf(cmd).id, syscall.SIGINT)
	}
	return cmd.Process.Signal(os.Interrupt)
}

// processGroup is a command with all that it has started, and its guard.
type processGroup struct{ id int }

// startGroup starts a command in a process group of its own, so that the terminal does not send signals to it, and all of its
// processes can be stopped. The group ends with this process, however that ends, unless it was released.
func startGroup(cmd *exec.Cmd) (g processGroup, release func(), err error) {
	guard, release := startGuard()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: guard}
	if err := cmd.Start(); err != nil {
		release()
		return g, nil, err
	}
	return groupOf(cmd), release, nil
}

// groupOf returns the group of a command that was started by startGroup.
func groupOf(cmd *exec.Cmd) processGroup {
	return processGroup{cmp.Or(cmd.SysProcAttr.Pgid, cmd.Process.Pid)}
}

// startGuard starts the first process of a group, which kills the group if this process ends before the release: what kills the
// group of this process, as timeout(1) and the runners of CI jobs do, does not reach the other one. The guard is a shell that reads
// from a pipe, which the end of this process closes. It begins before the command: this process may be killed between
// the two. Without a guard, the group is 0.
func startGuard() (group int, release func()) {
	cmd := exec.Command(interpreter[0], append(interpreter[1:len(interpreter):len(interpreter)], "read -r released || kill -KILL 0")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil { // then the command may outlive this process
		return 0, func() {}
	}
	return cmd.Process.Pid, func() { // it may have ended with the group
		_, _ = io.WriteString(pipe, "\n")
		_ = cmd.Wait()
	}
}

// These fail if the processes have exited.
func (g processGroup) terminate() { _ = syscall.Kill(-g.id, syscall.SIGTERM) }
func (g processGroup) kill()      { _ = syscall.Kill(-g.id, syscall.SIGKILL) }

// exists reports whether a process of the group exists: the first one may have ended.
func (g processGroup) exists() bool { return syscall.Kill(-g.id, 0) != syscall.ESRCH }
