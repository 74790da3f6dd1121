//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a child process whose output goes to the log of the round.
type process struct {
	*exec.Cmd
	output *output
	done   chan struct{} // closed when it has ended
}

// output collects what a process prints, and says when it contains a text.
type output struct {
	round *round
	mu    sync.Mutex
	text  bytes.Buffer
	until string
	found chan struct{} // closed when the text contains until
}

func (o *output) Write(b []byte) (int, error) {
	o.round.writeLog(string(b))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(b)
	if o.until != "" && bytes.Contains(o.text.Bytes(), []byte(o.until)) {
		o.until = ""
		close(o.found)
	}
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// suspend stops a process. A signal is sent before all threads have received it, so suspend returns when
// they have: until then the process may answer.
func (r *round) suspend(p *process) error {
	r.logf("suspend %d", p.Process.Pid)
	if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		err := unix.Waitid(unix.P_PID, p.Process.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// command returns a command with a home folder in the round's folder. It ends with this
// process.
func (r *round) command(name string, args ...string) *exec.Cmd {
	r.logf("%s %s", filepath.Base(name), strings.Join(args, " "))
	cmd := exec.Command(name, args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "HOME="+r.dir, "XDG_STATE_HOME="+r.join("state"), "TMPDIR="+r.dir, "KUBECONFIG="+r.join("kubeconfig"), "NO_COLOR=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// start starts a command; until is the text that closes its found channel.
func (r *round) start(cmd *exec.Cmd, until string) (*process, error) {
	out := &output{round: r, until: until, found: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = out
	}
	cmd.Stderr = out
	cmd.WaitDelay = time.Second // grandchildren may hold the pipes
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{Cmd: cmd, output: out, done: make(chan struct{})}
	r.processes = append(r.processes, p)
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // ProcessState has the result
	}()
	return p, nil
}

// kill kills the process and its children, and waits for its end. It has no effect on a
// process that has ended.
func (p *process) kill() {
	if !p.ended() {
		_ = syscall.Kill(-p.Process.Pid, syscall.SIGKILL) // it may have ended
	}
	<-p.done
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// awaitEnd waits until the process has ended, which it must within the timeout.
func (p *process) awaitEnd(timeout time.Duration) error {
	select {
	case <-p.done:
		return nil
	case <-time.After(timeout):
		return fmt.Errorf("%s still runs after %v: %s", strings.Join(p.Args, " "), timeout, lastLine(p.output.String()))
	}
}

// killed reports whether SIGKILL ended the process.
func (p *process) killed() bool {
	status, ok := p.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// oneLineReason returns an error unless the program has ended as it should when it cannot
// go on: with code 1 or 2 and a last line that says why, and no stack.
func (p *process) oneLineReason() error {
	text := p.output.String()
	line := lastLine(text)
	switch code := p.ProcessState.ExitCode(); {
	case code != 1 && code != 2:
		return fmt.Errorf("ended with %v: %s", p.ProcessState, line)
	case !strings.HasPrefix(line, "ctrlplane: ") || strings.Contains(text, "\ngoroutine "):
		return fmt.Errorf("ended without a reason in one line: %s", line)
	}
	return nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}
