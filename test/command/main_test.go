// Package command_test drives the built program as a person does. It links
// nothing of Kubernetes' server.
package command_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// programPath is the path of the built program.
var programPath string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	if programPath = os.Getenv("CTRLPLANE"); programPath != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "command-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	programPath = filepath.Join(dir, "ctrlplane")
	build := exec.Command("go", "build", "-o", programPath, "github.com/ctrlplane/ctrlplane/cmd/ctrlplane")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return m.Run()
}

const waitTimeout = time.Minute

// newCommand is the program with a home and temporary folder of its own.
func newCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), programPath, args...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home+"/state", "TMPDIR="+home, "KUBECONFIG="+home+"/user.kubeconfig")
	return cmd
}

// runToEnd runs a command that ends by itself.
func runToEnd(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	stop := time.AfterFunc(waitTimeout, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	runErr := cmd.Run()
	if exit := (*exec.ExitError)(nil); runErr != nil && !errors.As(runErr, &exit) {
		t.Fatal(runErr)
	}
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// controlPlane is a control plane that runs as a process of its own.
type controlPlane struct {
	cmd    *exec.Cmd
	dir    string
	stderr *bytes.Buffer
	ended  chan struct{} // closed when the process has
}

// startUp starts a control plane in dir and returns when its kubeconfig works.
func startUp(t *testing.T, dir string, args ...string) *controlPlane {
	t.Helper()
	p := &controlPlane{dir: dir, stderr: &bytes.Buffer{}, ended: make(chan struct{})}
	p.cmd = newCommand(t, append([]string{"up", "--ui", "none", "--data-dir", dir}, args...)...)
	p.cmd.Stderr = p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // ProcessState tells
	}()
	t.Cleanup(func() { p.kill() })
	p.await(t, "ready", func() bool {
		client, err := p.newClient()
		return err == nil && client.RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error() == nil
	})
	return p
}

func (p *controlPlane) newClient() (*kubernetes.Clientset, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(p.dir, "kubeconfig"))
	if err != nil {
		return nil, err
	}
	cfg.QPS = -1
	return kubernetes.NewForConfig(cfg)
}

func (p *controlPlane) await(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(waitTimeout)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-p.ended:
			t.Fatalf("ended before it was %s: %s", what, p.stderr)
		case <-deadline:
			t.Fatalf("not %s after %v", what, waitTimeout)
		}
	}
}

func (p *controlPlane) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// stop sends sig and returns how long the end took.
func (p *controlPlane) stop(t *testing.T, sig syscall.Signal) time.Duration {
	t.Helper()
	began := time.Now()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(waitTimeout):
		t.Fatalf("still running %v after %v", waitTimeout, sig)
	}
	return time.Since(began)
}

// requireFailure checks that a command fails as it should: with this code, and one
// line that says what and why.
func requireFailure(t *testing.T, cmd *exec.Cmd, code int, says ...string) {
	t.Helper()
	_, stderr, got := runToEnd(t, cmd)
	if got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	line := strings.TrimSuffix(stderr, "\n")
	if !strings.HasPrefix(line, "ctrlplane: ") || strings.Contains(line, "\n") {
		t.Errorf("not one line: %q", stderr)
	}
	for _, s := range says {
		if !strings.Contains(line, s) {
			t.Errorf("%q does not say %q", line, s)
		}
	}
}
