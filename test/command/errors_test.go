package command_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestWrongNodesFailBeforeTheStart checks that no step of the start is shown for nodes that
// cannot be.
func TestWrongNodesFailBeforeTheStart(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := program.Run(t, program.Command(t, "up", "--ephemeral", "--ui", "plain", "--nodes", "-1"))
	if code != 2 || stdout != "" || !strings.HasPrefix(stderr, "ctrlplane: -1 nodes: choose 0 to ") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestOnlyTheWrongStepFails checks that a step of the start that ends because of another one's
// failure is not shown as failed.
func TestOnlyTheWrongStepFails(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := program.Run(t, program.Command(t, "up", "--ephemeral", "--ui", "plain", "--kube-scheduler-arg", "nope=1"))
	if code != 2 || !strings.Contains(stderr, "nope") || strings.Count(stdout, "failed after") != 1 || !strings.Contains(stdout, "options         failed after") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestUsageErrors has command lines that are wrong for a part of Kubernetes, or leave state in the
// process, and one that is neither. TestUsageErrors in cmd/ctrlplane has the others.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	garbage := testutil.WriteFile(t, filepath.Join(t.TempDir(), "garbage"), "garbage: [")
	for _, tc := range []struct{ args, says string }{
		{"up extra", "takes no arguments"},
		{"up --ephemeral --controllers=*,-deploymnt", `unknown controller "deploymnt": did you mean "deployment"?`},
		{"up --ephemeral --feature-gates=NoSuchGate=true", "NoSuchGate"},
		{"up --ephemeral --feature-gates=nonsense", "nonsense"},
		{"up --ephemeral --runtime-config=no.such.group/v1=true", "no.such.group/v1"},
		{"up --ephemeral --kube-apiserver-arg etcd-prefx=/x", `did you mean "etcd-prefix"?`},
		{"up --ephemeral --kube-apiserver-arg secure-port=1", "use --port"},
		{"up --ephemeral --kube-apiserver-arg etcd-prefix=//", "a prefix with a name"},
		{"up --ephemeral --kube-controller-manager-arg concurrent-deployment-syncs=x", "concurrent-deployment-syncs"},
		{"up --ephemeral --kube-controller-manager-arg leader-elect=true", "use --leader-elect"},
		{"up --etcd-endpoints nonsense", `"nonsense"`},
		{"up --service-cidr 10.0.0.0/32", "--service-cidr 10.0.0.0/32"},
		{"up --pod-cidr 10.0.0.0/30", "--pod-cidr 10.0.0.0/30"},
		{"up --load-balancer-range x", `--load-balancer-range "x"`},
		{"up --no-scheduler --kube-scheduler-arg v=1", "--no-scheduler"},
		{"up --with shop=127.0.0.1:8080", `--with: address "127.0.0.1:8080" has no scheme: begin it with http://`},
		{"up --with http://127.0.0.1:1 --with shop=http://[::1", `--with: address "http://[::1" is not a valid URL`},
		{"run --kube-apiserver-arg=emulated-version=1.35 -- true", "use --kubernetes"},
		{"up --ephemeral -f " + garbage, garbage},
		{"up --ephemeral -f /no/such/file", "/no/such/file"},
		{"status --version", "unknown flag: --version"}, // which Kubernetes' packages register for the whole process
	} {
		t.Run(tc.args, func(t *testing.T) {
			t.Parallel()
			cmd := program.Command(t, append(strings.Fields(tc.args), uiNoneFlag(tc.args)...)...)
			program.RequireFailure(t, cmd, 2, tc.says)
			if left, err := filepath.Glob(filepath.Join(cmd.Dir, "*")); len(left) > 0 || err != nil {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	file := testutil.WriteFile(t, filepath.Join(t.TempDir(), "garbage"), "garbage: [")
	for _, tc := range []struct{ args, says string }{
		{"up --ephemeral --port " + port, "port " + port + " is in use"},
		{"up --ephemeral --bind-address 192.0.2.1", "this machine has no address 192.0.2.1"},
		{"up --data-dir " + file, "is a file"},
		{"up --data-dir " + filepath.Dir(file), "contains other files"},
		{"up --ephemeral --etcd-endpoints http://127.0.0.1:1", "http://127.0.0.1:1"},
		{"kubeconfig", "is not running: start it with"},
		{"--name other controllers", "--name other up"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			cmd := program.Command(t, append(strings.Fields(tc.args), uiNoneFlag(tc.args)...)...)
			program.RequireFailure(t, cmd, 1, tc.says)
			if left, err := filepath.Glob(filepath.Join(cmd.Dir, "*")); len(left) > 0 || err != nil {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
	t.Run("KUBECONFIG does not parse", func(t *testing.T) {
		cmd := program.Command(t, "up", "--ephemeral", "--merge-kubeconfig", "--ui", "none")
		cmd.Env = append(cmd.Env, "KUBECONFIG="+file)
		program.RequireFailure(t, cmd, 1, file)
	})
}

func uiNoneFlag(args string) []string {
	if strings.HasPrefix(args, "up") {
		return []string{"--ui", "none"}
	}
	return nil
}

// TestDamagedDataFolder starts on data folders that have one damage each. Lost data is not
// replaced by an empty store.
func TestDamagedDataFolder(t *testing.T) {
	t.Parallel()
	made := filepath.Join(t.TempDir(), "made")
	program.Up(t, made, minimal()...).Stop(t, syscall.SIGTERM)
	garbage := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { testutil.WriteFile(t, filepath.Join(dir, name), "garbage") }
	}
	remove := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tc := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		says   []string
	}{
		{"etcd's database is garbage", func(t *testing.T, dir string) {
			testutil.WriteFile(t, filepath.Join(dir, "etcd/member/snap/db"), strings.Repeat("garbage!", 8192))
		}, []string{"etcd/member/snap/db", "damaged"}},
		{"certificate is garbage", garbage("pki/apiserver.crt"), []string{"apiserver.crt"}},
		{"etcd's member is lost", remove("etcd/member"), []string{filepath.Join("copy", "etcd") + " holds no data", "use another data folder to start empty"}},
		{"etcd's folder is lost", remove("etcd"), []string{filepath.Join("copy", "etcd") + " holds no data", "use another data folder to start empty"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			tc.damage(t, dir)
			program.RequireFailure(t, program.Command(t, "up", "--ui", "none", "--data-dir", dir), 1, tc.says...)
		})
	}
}

// TestFolderWithoutManifests names the flag that reads subfolders.
func TestFolderWithoutManifests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program.RequireFailure(t, program.Command(t, "run", "-f", dir, "--", "true"), 2, dir+": no *.yaml", "its subfolders are not read): add -R to read them")
}
