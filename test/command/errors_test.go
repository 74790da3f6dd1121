package command_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

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

// TestUsageErrors runs command lines that are wrong whatever the state of the machine. In
// place of an argument, "\x00" stands for an empty one, and "_" for a space in one.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ args, says string }{
		{"uq", `did you mean "up"?`},
		{"pasue replicaset", `did you mean "controllers pause" or "clients pause"?`},
		{"held", `did you mean "controllers held" or "clients held"?`},
		{"fail x", `did you mean "controllers fail" or "clients fail" or "nodes fail"?`},
		{"create cluster", `did you mean "up"?`},
		{"get pods", `did you mean "kubectl get"?`},
		{"exec web -- sh", `did you mean "run" or "kubectl exec"?`},
		{"rollout restart", `did you mean "kubectl rollout"?`},
		{"start", `unknown verb "start": did you mean "up"?`},
		{"restart", `unknown verb "restart": use "down" and then "up"`},
		{"rstore base", `see "ctrlplane --help"`}, // what cannot be undone is not suggested for a typing error
		{"snapshot restroe base", `see "ctrlplane snapshot --help"`},
		{"restore base", `did you mean "snapshot restore"?`},
		{"nodes remov node-1", `see "ctrlplane nodes --help"`},
		{"controllers list extra", "takes no arguments"},
		{"--name red delete red", `leave the flag out: "ctrlplane delete red"`},
		{"up --no-such-flag", "unknown flag"},
		{"--nmae x status", `unknown flag: --nmae: see "ctrlplane --help"`},
		{"--name", "flag needs an argument"},
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
		{"up --ephemeral --data-dir x", "use one of them"},
		{"up --ephemeral --service-cidr 1.2.3", "1.2.3"},
		{"up --ephemeral --pod-cidr zz", "zz"},
		{"up --bind-address nowhere", "not an IP address"},
		{"up --port 99999", "99999"},
		{"up --ui nope", "auto, plain, json or none"},
		{"up --log-level nope", "debug, info, warn or error"},
		{"up --log-format nope", "text"},
		{"up --etcd-cafile x", "--etcd-endpoints"},
		{"up --etcd-endpoints http://127.0.0.1:1 --etcd-certfile x", "--etcd-keyfile"},
		{"--name Bad_Name up", "Bad_Name"},
		{"controllers -o xml", "xml"},
		{"version extra", "takes no arguments"},
		{"up -v -1", "-v -1"},
		{"up --observe-records 999999999999", "--observe-records 999999999999"},
		{"up --observe-records -2", "--observe-records -2"},
		{"up --host \x00", "--host: empty"},
		{"up --host a_b", `--host "a b"`},
		{"up --host a,*.evil", `--host "*.evil"`},
		{"up --host -", `--host "-"`},
		{"up --data-dir \x00", "--data-dir: empty"},
		{"--data-dir \x00 up", "--data-dir: empty"},
		{"up --etcd-endpoints \x00", "--etcd-endpoints: empty"},
		{"up --etcd-endpoints http://127.0.0.1:1,,", "--etcd-endpoints: empty"},
		{"up --etcd-endpoints nonsense", `"nonsense"`},
		{"up --log-file \x00", "--log-file: empty"},
		{"up --controllers \x00", "--controllers: empty"},
		{"up -f \x00", "--manifests: empty"},
		{"up --name \x00", "--name: empty"},
		{"up --node-memory 1e30", `--node-memory "1e30"`},
		{"up --node-cpu 0", `--node-cpu "0"`},
		{"up --node-label x", "key=value"},
		{"up --node-taint x", `node taint "x"`},
		{"up --node-zones 99", "99 zones"},
		{"up --node-zones 99999999999999999999", `--node-zones "99999999999999999999": choose 1 to 26`},
		{"up --nodes abc", `--nodes "abc": not a whole number: see "ctrlplane up --help"`},
		{"up --nodes 99999999999999999999", `--nodes "99999999999999999999": out of range: see "ctrlplane up --help"`},
		{"wait settled --timeout 5", `--timeout "5": not a duration such as 30s or 2m: see "ctrlplane wait settled --help"`},
		{"up --service-cidr 10.0.0.0/16 --pod-cidr 10.0.0.0/16", "overlaps"},
		{"up --service-cidr 10.0.0.0/16 --pod-cidr 10.0.0.0/8", "overlaps"},
		{"up --service-cidr 10.0.0.0/32", "--service-cidr 10.0.0.0/32"},
		{"up --pod-cidr 10.0.0.0/30", "--pod-cidr 10.0.0.0/30"},
		{"up --pod-cidr 10.1.0.0/16,10.2.0.0/16", "same IP family"},
		{"up --load-balancer-range x", `--load-balancer-range "x"`},
		{"up --from Bad_Name", "--from"},
		{"up --from no-such-snapshot", "no-such-snapshot"},
		{"up --no-scheduler --kube-scheduler-arg v=1", "--no-scheduler"},
		{"run", "missing command"},
		{"run --timeout -1s -- true", "--timeout"},
		{"run --report \x00 -- true", "--report"},
		{"run --settle --observe-records -1 -- true", "--settle"},
		{"run --nodes x -- true", "--nodes"},
		{"top extra", "takes no arguments"},
		{"top --metrics nonsense", "--metrics"},
		{"status -o xml", "xml"},
		{"wait", "nothing to wait for"},
		{"wait nonsense", "KIND/NAME"},
		{"wait setled", `did you mean "settled"?`},
		{"wait pods", `as in "ctrlplane wait pods/NAME": `},
		{"wait deployment web api/x", "KIND/NAME"},
		{"wait deploy/web --timeout 0", "--timeout"},
		{"wait settled --horizon -1s", "--horizon"},
		{"trace", "KIND"},
		{"trace deploy/web -o nope", "nope"},
		{"trace deploy/web --since -1s", "--since"},
		{"why nonsense", "KIND"},
		{"why pods", `as in "ctrlplane why pods/NAME": `},
		{"trace Deployment", `as in "ctrlplane trace Deployment/NAME"`},
		{"explain nope", "nope"},
		{"explain pod", `kubectl explain pod" explains the fields`},
		{"controllers nope", "nope"},
		{"controllers pause", "missing controller name"},
		{"controllers pause --all x", "exclude each other"},
		{"controllers step a 0", "not a number of writes"},
		{"controllers step", "takes the name of a controller and a number of writes"},
		{"controllers step a --until x", `--until: unknown state "x": use settled`},
		{"controllers step a 3 --until settled", "exclude each other"},
		{"controllers step a --timeout 0s", "--timeout: 0s is not positive"},
		{"controllers delay a", "not a duration"},
		{"controllers delay a 0s", "not positive"},
		{"controllers fail a --rate 7", "rate 7"},
		{"controllers fail a --code x", `code "x"`},
		{"controllers fail a --verb x", `verb "x"`},
		{"controllers scale a", "missing number of workers: use --workers 3"},
		{"controllers scale a --workers 0", "--workers 0: not a number of workers"},
		{"nodes add x", "not a number of nodes"},
		{"nodes remove", "missing node name"},
		{"snapshot save Bad_Name", "Bad_Name"},
		{"snapshot restore no-such-snapshot", "no-such-snapshot"},
		{"snapshot diff a b c", "one or two names"},
		{"learn 99", `unknown lesson "99"`},
		{"learn /no/such.md", "/no/such.md"},
		{"learn --list 1", "--list"},
		{"learn --resume --auto", "exclude each other: use one of them"},
		{"help nope", `unknown verb "nope"`},
		{"completion nope", `unknown verb "nope"`},
	} {
		t.Run(tc.args, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(tc.args)
			for i, arg := range args {
				if strings.HasPrefix(arg, "a_") || arg == "\x00" {
					args[i] = strings.NewReplacer("_", " ", "\x00", "").Replace(arg)
				}
			}
			cmd := program.Command(t, args...)
			if args[0] == "up" && !slices.Contains(args, "--ui") {
				cmd.Args = append(cmd.Args, "--ui", "none")
			}
			program.RequireFailure(t, cmd, 2, tc.says)
			if left, err := filepath.Glob(filepath.Join(cmd.Dir, "*")); len(left) > 0 || err != nil {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestErrorsHaveNoControlCharacters names files that cannot be read: an error contains
// text of a user, a file, an API server or a webhook.
func TestErrorsHaveNoControlCharacters(t *testing.T) {
	t.Parallel()
	const evil = "a\x1b[2J\x07\u009b31m\u202eb\xff"
	for _, args := range [][]string{
		{"up", "--ui", "none", "--ephemeral", "-f", evil},
		{"run", "-f", evil, "--", "true"},
		{"wait", "-f", evil},
		{"snapshot", "delete", evil},
		{"--data-dir", evil, "status"},
		{evil},
	} {
		cmd := program.Command(t, args...)
		stdout, stderr, code := program.Run(t, cmd)
		if code == 0 || !strings.HasPrefix(stderr, "ctrlplane: ") {
			t.Errorf("%q: exit code %d: %q", args, code, stderr)
		}
		if !utf8.ValidString(stdout+stderr) || strings.ContainsAny(stdout+stderr, "\x1b\x07\u009b\u202e") {
			t.Errorf("%q: stdout %q, stderr %q", args, stdout, stderr)
		}
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
	file := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(file, []byte("garbage: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ args, says string }{
		{"up --ephemeral --port " + port, "port " + port + " is in use"},
		{"up --ephemeral --bind-address 192.0.2.1", "this machine has no address 192.0.2.1"},
		{"up --data-dir " + file, "is a file"},
		{"up --data-dir " + filepath.Dir(file), "contains other files"},
		{"up --ephemeral --etcd-endpoints http://127.0.0.1:1", "http://127.0.0.1:1"},
		{"up --ephemeral -f " + file, file},
		{"up --ephemeral -f /no/such/file", "/no/such/file"},
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

func TestInvalidManifestStopsStart(t *testing.T) {
	t.Parallel()
	manifest := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(manifest, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad_Name}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	program.RequireFailure(t, program.Command(t, "up", "--ui", "none", "--data-dir", dir, "-f", manifest), 1, manifest, "Bad_Name")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the data folder: got %v, want not found", err)
	}
}

// TestDamagedDataFolder starts on data folders that have one damage each. Lost data is not
// replaced by an empty store.
func TestDamagedDataFolder(t *testing.T) {
	t.Parallel()
	made := filepath.Join(t.TempDir(), "made")
	program.Up(t, made, "--nodes", "0").Stop(t, syscall.SIGTERM)
	garbage := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, name), "garbage") }
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
			writeFile(t, filepath.Join(dir, "etcd/member/snap/db"), strings.Repeat("garbage!", 8192))
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
	program.RequireFailure(t, program.Command(t, "run", "-f", dir, "--", "true"), 125, dir+": no *.yaml", "its subfolders are not read): add -R to read them")
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
