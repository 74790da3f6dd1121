//go:build unix

package command_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// readyMessage is what "ctrlplane child" says.
type readyMessage struct {
	Protocol                                      int
	Version, Kubernetes, URL, DataDir, Kubeconfig string
	PID                                           int
}

// TestChild is the parent of a control plane, and lets go of it.
func TestChild(t *testing.T) {
	t.Parallel()
	cmd := newCommand(t, "child", "--nodes=0")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	line, err := out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var r readyMessage
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", r.Kubeconfig)
	if err != nil || cfg.Host != r.URL {
		t.Errorf("kubeconfig is for %v, %v, want %s", cfg, err, r.URL)
	}
	if r.Protocol != 1 || r.Version == "" || r.Kubernetes != "v1.37.1" || r.PID != cmd.Process.Pid || filepath.Dir(r.Kubeconfig) != r.DataDir {
		t.Errorf("it says %s", line)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("it says more: %q, %v", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	requireNothingLeft(t, cmd)
}

func TestChildUsageErrors(t *testing.T) {
	requireFailure(t, newCommand(t, "child", "extra"), 2, "takes no arguments")
	requireFailure(t, newCommand(t, "child", "--pod-cidr=zz"), 2, "zz")
}

// TestRunSelectsItsControlPlane has two control planes beside that of the run, among
// which the verbs that it calls must find their own.
func TestRunSelectsItsControlPlane(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "data")
	cmd := newRunCommand(t, "--nodes=0", "--", "sh", "-c", `
		"$0" run --nodes=0 -- "$0" run --nodes=0 -- sh -c '"$0" kubeconfig && "$0" kubectl get namespace default -o name && echo "$CTRLPLANE_DATA_DIR" && "$0" wait settled -q' "$0"`, programPath)
	stdout, stderr, code := runToEnd(t, cmd)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != 0 || len(lines) != 3 || lines[1] != "namespace/default" || lines[0] != lines[2]+"/kubeconfig" {
		t.Errorf("exit code %d, stdout %q: %s", code, stdout, stderr)
	}
	requireNothingLeft(t, cmd)

	// A flag counts more than the environment.
	p := startUp(t, out, "--nodes=0")
	for _, tc := range []struct{ env, args, want string }{
		{out, "kubeconfig", out},
		{"/no/such/folder", "--data-dir " + out + " kubeconfig", out},
	} {
		cmd := newCommand(t, strings.Fields(tc.args)...)
		cmd.Env = append(cmd.Env, "CTRLPLANE_DATA_DIR="+tc.env)
		if stdout, stderr, code := runToEnd(t, cmd); code != 0 || stdout != filepath.Join(tc.want, "kubeconfig")+"\n" {
			t.Errorf("%s with %s: exit code %d, %q: %s", tc.args, tc.env, code, stdout, stderr)
		}
	}
	cmd = newCommand(t, "status")
	cmd.Env = append(cmd.Env, "CTRLPLANE_DATA_DIR=/no/such/folder")
	requireFailure(t, cmd, 1, "no control plane is running in /no/such/folder, the value of CTRLPLANE_DATA_DIR")
	cmd = newCommand(t, "up")
	cmd.Env = append(cmd.Env, "CTRLPLANE_DATA_DIR="+out)
	requireFailure(t, cmd, 1, out+" is in use")
	p.kill()
}

// TestKubeconfigSelectsControlPlane has two ephemeral ones in a folder.
func TestKubeconfigSelectsControlPlane(t *testing.T) {
	t.Parallel()
	r := startRun(t, "--nodes=0", "--", "sh", "-c", `echo "$KUBECONFIG"; cat`)
	mine := r.readLine(t)
	inner := newCommand(t, "run", "--nodes=0", "--", "sh", "-c", `unset CTRLPLANE_DATA_DIR; KUBECONFIG="$1" "$0" kubeconfig; KUBECONFIG= "$0" kubeconfig`, programPath, mine)
	inner.Dir = r.cmd.Dir
	inner.Env = append(os.Environ(), "HOME="+r.cmd.Dir, "XDG_STATE_HOME="+r.cmd.Dir+"/state", "TMPDIR="+r.cmd.Dir)
	stdout, stderr, code := runToEnd(t, inner)
	if code != 1 || stdout != mine+"\n" || !strings.Contains(stderr, "several control planes are running: choose one") {
		t.Errorf("exit code %d, %q, want %s: %s", code, stdout, mine, stderr)
	}
	r.stdin.Close()
	select {
	case <-r.ended:
	case <-time.After(waitTimeout):
		t.Fatal("the run has not ended")
	}
}
