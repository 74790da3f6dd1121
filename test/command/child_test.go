//go:build unix

package command_test

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
	"github.com/ctrlplane/ctrlplane/internal/upstreamversion"
)

// readyMessage is the line that "ctrlplane child" prints.
type readyMessage struct {
	Protocol                                      int
	Version, Kubernetes, URL, DataDir, Kubeconfig string
	CAFile, CertFile, KeyFile                     string
	PID                                           int
}

// TestChild starts a control plane as a parent does, and closes its stdin.
func TestChild(t *testing.T) {
	t.Parallel()
	cmd := program.Command(t, append([]string{"child"}, minimal()...)...)
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
	testutil.DecodeJSON(t, line, &r)
	cfg, err := clientcmd.BuildConfigFromFlags("", r.Kubeconfig)
	if err != nil || cfg.Host != r.URL {
		t.Errorf("kubeconfig is for %v, %v, want %s", cfg, err, r.URL)
	}
	if r.Protocol != 2 || r.Version == "" || r.Kubernetes != upstreamversion.Kubernetes || r.PID != cmd.Process.Pid || filepath.Dir(r.Kubeconfig) != r.DataDir {
		t.Errorf("got %s", line)
	}
	for file, want := range map[string][]byte{r.CAFile: cfg.CAData, r.CertFile: cfg.CertData, r.KeyFile: cfg.KeyData} {
		if got := testutil.ReadFile(t, file); got != string(want) {
			t.Errorf("%s differs from the kubeconfig", file)
		}
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("more output: %q, %v", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v, want success", err)
	}
	requireNothingLeft(t, cmd)
}

func TestChildUsageErrors(t *testing.T) {
	t.Parallel()
	program.RequireFailure(t, program.Command(t, "child", "extra"), 2, "takes no arguments")
	cmd := program.Command(t, "child", "--pod-cidr=zz")
	stdin, err := cmd.StdinPipe() // its end would interrupt the start
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	program.RequireFailure(t, cmd, 2, "zz")
}

// TestRunSelectsItsControlPlane starts a run within a run: the verbs that the inner
// command calls must use its own control plane.
func TestRunSelectsItsControlPlane(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "data")
	cmd := newRunCommand(t, minimal("--", "sh", "-c", `
		"$0" run --nodes=0 --no-scheduler --controllers=namespace -- sh -c '"$0" kubeconfig && "$0" kubectl get namespace default -o name && echo "$CTRLPLANE_DATA_DIR" && "$0" wait settled -q --timeout 5m' "$0"`, program.Path())...)
	stdout, stderr, code := program.Run(t, cmd)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != 0 || len(lines) != 3 || lines[1] != "namespace/default" || lines[0] != lines[2]+"/kubeconfig" {
		t.Errorf("exit code %d, stdout %q: %s", code, stdout, stderr)
	}
	requireNothingLeft(t, cmd)

	// A flag takes precedence over the environment.
	p := program.Up(t, out, minimal()...)
	for _, tc := range []struct{ env, args, want string }{
		{out, "kubeconfig", out},
		{"/no/such/folder", "--data-dir " + out + " kubeconfig", out},
	} {
		cmd := program.Command(t, strings.Fields(tc.args)...)
		cmd.Env = append(cmd.Env, "CTRLPLANE_DATA_DIR="+tc.env)
		if stdout, stderr, code := program.Run(t, cmd); code != 0 || stdout != filepath.Join(tc.want, "kubeconfig")+"\n" {
			t.Errorf("%s with %s: exit code %d, %q: %s", tc.args, tc.env, code, stdout, stderr)
		}
	}
	for env, want := range map[string]string{out: "default  running", "/no/such/folder": "no control planes"} {
		cmd := program.Command(t, "list")
		cmd.Env = append(cmd.Env, "CTRLPLANE_DATA_DIR="+env)
		if stdout, stderr, code := program.Run(t, cmd); code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("list with %s: exit code %d, %q: %s", env, code, stdout, stderr)
		}
	}
	cmd = program.Command(t, "status")
	cmd.Env = append(cmd.Env, "CTRLPLANE_DATA_DIR=/no/such/folder")
	program.RequireFailure(t, cmd, 1, "no control plane is running in /no/such/folder, the value of CTRLPLANE_DATA_DIR")
	cmd = program.Command(t, "up")
	cmd.Env = append(cmd.Env, "CTRLPLANE_DATA_DIR="+out)
	program.RequireFailure(t, cmd, 1, "is already running at https://")
	p.Kill()
}

// TestKubeconfigSelectsControlPlane runs two ephemeral control planes in one folder, which
// are only found by the kubeconfig.
func TestKubeconfigSelectsControlPlane(t *testing.T) {
	t.Parallel()
	r := startRun(t, minimal("--", "sh", "-c", `echo "$KUBECONFIG"; cat`)...)
	mine := r.readLine(t)
	inner := program.Command(t, append([]string{"run"}, minimal("--", "sh", "-c", `unset CTRLPLANE_DATA_DIR; KUBECONFIG="$1" "$0" kubeconfig; KUBECONFIG= "$0" kubeconfig`, program.Path(), mine)...)...)
	inner.Dir = r.cmd.Dir
	inner.Env = append(os.Environ(), "HOME="+r.cmd.Dir, "XDG_STATE_HOME="+r.cmd.Dir+"/state", "TMPDIR="+r.cmd.Dir)
	stdout, stderr, code := program.Run(t, inner)
	if code != 1 || stdout != mine+"\n" || !strings.Contains(stderr, `control plane "default" is not running`) {
		t.Errorf("exit code %d, %q, want %s: %s", code, stdout, mine, stderr)
	}
	r.stdin.Close()
	select {
	case <-r.ended:
	case <-time.After(program.Timeout):
		t.Fatal("the run did not end")
	}
}
