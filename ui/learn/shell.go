package learn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/ctrlplane/ctrlplane/internal/sleep"
)

// terminateGrace is the time from asking a command to exit to killing it.
const terminateGrace = 3 * time.Second

// shell runs commands in a lesson's folder, with a kubectl and a ctrlplane in the PATH
// that use the lesson's control plane and namespace.
type shell struct {
	dir         string // the reader's files
	toolsDir    string // kubectl, ctrlplane, the kubeconfig
	namespace   string
	env         []string
	program     []string   // ctrlplane and its flags that select the control plane
	in          io.Reader  // of the reader's commands; nil means empty
	columns     func() int // of the terminal that shows their output; nil or 0 means unlimited
	jobs        []*job     // background commands
	jobsStarted int        // number of jobs so far
}

// newShell writes the shell's tools to toolsDir. program is the path of ctrlplane, and
// target its flags that select the control plane.
func newShell(dir, tools, namespace string, cfg *rest.Config, program string, target []string) (*shell, error) {
	s := &shell{dir: dir, toolsDir: tools, namespace: namespace, program: append([]string{program}, target...)}
	kubeconfig := filepath.Join(tools, "kubeconfig")
	if err := writeKubeconfig(kubeconfig, cfg, namespace); err != nil {
		return nil, err
	}
	for name, text := range shimScripts(program, target, kubeconfig, namespace) {
		if err := os.WriteFile(filepath.Join(tools, name), []byte(text), 0o700); err != nil {
			return nil, err
		}
	}
	// The go.sum of a lesson comes from this program's build information.
	s.env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "NS="+namespace, "GOSUMDB=off",
		"PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	return s, os.WriteFile(filepath.Join(tools, envFile), []byte(envText(tools, kubeconfig, namespace)), 0o600)
}

// writeKubeconfig writes a kubeconfig for an administrator in the lesson's namespace.
func writeKubeconfig(path string, cfg *rest.Config, namespace string) error {
	c := api.NewConfig()
	c.Clusters["lesson"] = &api.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData, CertificateAuthority: cfg.CAFile}
	c.AuthInfos["lesson"] = &api.AuthInfo{
		ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData,
		ClientCertificate: cfg.CertFile, ClientKey: cfg.KeyFile, Token: cfg.BearerToken,
	}
	c.Contexts["lesson"] = &api.Context{Cluster: "lesson", AuthInfo: "lesson", Namespace: namespace}
	c.CurrentContext = "lesson"
	return clientcmd.WriteToFile(*c, path)
}

// run runs a command line in the foreground and returns its exit code.
func (s *shell) run(ctx context.Context, line string, out io.Writer) (code int, err error) {
	cmd := s.newCommand(ctx, line)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.in, out, out
	if s.columns != nil && s.columns() > 0 { // its stdout may be a pipe
		cmd.Env = append(slices.Clone(s.env), fmt.Sprintf("COLUMNS=%d", s.columns()))
	}
	err = s.runToEnd(ctx, cmd)
	awaitOwnSignal(ctx, err)
	return exitStatus(err)
}

// runToEnd runs a command. If the context or the end of this process ends it, nothing that it has started is left. A
// command that reads from a terminal is the exception: in a process group of its own it could not.
func (s *shell) runToEnd(ctx context.Context, cmd *exec.Cmd) error {
	if s.in != nil {
		return cmd.Run()
	}
	group, release, err := startGroup(cmd)
	if err != nil {
		return err
	}
	defer release()
	err = cmd.Wait()
	if ctx.Err() != nil {
		group.kill()
	}
	return err
}

// ownSignalDelay is how long a signal may take until it ends the context of a lesson.
const ownSignalDelay = time.Second

// awaitOwnSignal waits for the end of the context, but not for long, if a signal other than an interrupt has ended
// a command: timeout(1), for one, sends it to this process and then to its whole group, and the command may be faster.
func awaitOwnSignal(ctx context.Context, err error) {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() != syscall.SIGINT {
		sleep.For(ctx, ownSignalDelay)
	}
}

// commandOutput is the output of a command; absent if the command fails.
func (s *shell) commandOutput(ctx context.Context, line string) (value, error) {
	var out bytes.Buffer
	cmd := s.newCommand(ctx, line)
	cmd.Stdout = &out
	code, err := exitStatus(s.runToEnd(ctx, cmd))
	return value{text: strings.TrimRight(out.String(), "\n"), absent: code != 0}, err
}

func exitStatus(err error) (int, error) {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), nil // -1 if a signal ended it
	}
	return 0, err
}

func (s *shell) newCommand(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, interpreter[0], append(interpreter[1:len(interpreter):len(interpreter)], line)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.dir, s.env, terminateGrace
	cmd.Cancel = func() error { return interrupt(cmd) }
	return cmd
}

// job is a background command.
type job struct {
	line, log string
	cmd       *exec.Cmd
	group     processGroup
	ended     chan struct{}
}

// startJob starts a command line in the background, with its output in a file.
func (s *shell) startJob(line string) (*job, error) {
	s.jobsStarted++
	j := &job{line: line, log: fmt.Sprintf("job-%d.log", s.jobsStarted), ended: make(chan struct{})}
	out, err := os.Create(filepath.Join(s.dir, j.log))
	if err != nil {
		return nil, err
	}
	defer out.Close() // the command has its own descriptor
	j.cmd = s.newCommand(context.Background(), line)
	j.cmd.Stdout, j.cmd.Stderr = out, out
	var release func()
	if j.group, release, err = startGroup(j.cmd); err != nil {
		return nil, err
	}
	go func() {
		defer close(j.ended)
		defer release()
		_ = j.cmd.Wait() // its log shows the failure
	}()
	s.jobs = append(s.jobs, j)
	return j, nil
}

// stopJobs stops all background commands, with what they have started.
func (s *shell) stopJobs() {
	for _, j := range s.jobs {
		j.group.terminate()
	}
	grace, cancel := context.WithTimeout(context.Background(), terminateGrace)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for _, j := range s.jobs {
		for j.group.exists() && grace.Err() == nil {
			select {
			case <-grace.Done():
			case <-poll.C:
			}
		}
		j.group.kill()
		<-j.ended
	}
	s.jobs = nil
}
