package learn

import (
	"os/exec"
	"syscall"

	"github.com/ctrlplane/ctrlplane/internal/jobobject"
)

// shellHint says where there is a shell.
const shellHint = "start ctrlplane in Git Bash, which Git for Windows installs, or in WSL"

// pathEntry is a folder in the PATH of a shell.
func pathEntry(dir string) string { return `"$(cygpath ` + quoteWord(dir) + `)"` }

// processGroup is a command with all that it has started; without a job it is the command alone. A job ends with this process.
type processGroup struct {
	cmd *exec.Cmd
	job *jobobject.Job
}

// interrupt ends a command: Windows has no signal for that.
func interrupt(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// startGroup starts a command in a process group of its own, so that the console does not send Ctrl-C to it.
func startGroup(cmd *exec.Cmd) (g processGroup, release func(), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	if err := cmd.Start(); err != nil {
		return g, nil, err
	}
	job, _ := jobobject.New(cmd.Process) // it fails if the command has exited
	return processGroup{cmd, job}, func() {}, nil
}

// terminate kills the group, which is not one that Windows could send Ctrl-Break to.
func (g processGroup) terminate() { g.kill() }

func (g processGroup) kill() {
	if g.job != nil {
		g.job.Kill()
		return
	}
	_ = g.cmd.Process.Kill() // it fails if the process has exited
}

func (g processGroup) exists() bool { return g.job != nil && g.job.Runs() }
