package command_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

func TestSnapshotOfRunningControlPlane(t *testing.T) {
	t.Parallel()
	k := newSnapshotFixture(t)
	running := k.startUp()
	requireContains(t, k.mustRun("snapshot", "save", "base"), "base saved: ", " objects, ", " KiB, in ")
	web := program.CreateWeb(t, k.dir, 2)
	k.createConfigMap("extra")
	k.mustRun("wait", "-n", "default", "deployment/"+web, "--timeout", "5m")
	program.WaitSettled(t, k.dir) // or a controller may create what "later" does not have
	requireContains(t, k.mustRun("snapshot", "diff", "base", "-o", "name"), "ConfigMap default/extra added\n", "Deployment.apps default/"+web+" added\n")
	requireContains(t, k.mustRun("snapshot", "diff", "base"), "--- /dev/null\n+++ ConfigMap default/extra (now)\n@@", "+kind: ConfigMap\n")
	requireContains(t, k.mustRun("snapshot", "diff", "base", "-o", "json"), `"change": "added"`, `"kind": "ConfigMap"`)
	k.mustRun("snapshot", "save", "later")
	requireContains(t, k.mustRun("snapshot", "list"), "NAME ", "base ", "later ", "v1.37.1")

	requireContains(t, k.mustRun("snapshot", "restore", "base"), "base restored: ", " deleted, 0 replaced, in ")
	if l, err := k.newClient().AppsV1().Deployments("default").List(t.Context(), metav1.ListOptions{}); err != nil || len(l.Items) != 0 {
		t.Errorf("Deployments: %v, %v", l, err)
	}
	requireContains(t, k.mustRun("snapshot", "restore", "later"), "later restored: ")
	if strings.Contains(k.mustRun("snapshot", "diff", "later", "-o", "name"), "added") {
		t.Error("objects were added after the restore")
	}
	requireContains(t, k.mustRun("reset"), "reset: ", " deleted, ")
	running.Await(t, "kube-root-ca.crt, which may not have been there yet, alone", func() bool { return k.countConfigMaps() == 1 })

	// A new control plane can be started from the snapshot, also by run.
	other := k
	other.dir = filepath.Join(t.TempDir(), "other")
	p := other.startUp("--from", "later")
	if _, err := other.newClient().AppsV1().Deployments("default").Get(t.Context(), web, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	p.Await(t, "with its own CA", func() bool { return hasOwnCA(t.Context(), other) })
	p.Stop(t, syscall.SIGTERM)
	program.RequireFailure(t, other.command("up", "--from", "later"), 2, "holds a control plane already", "snapshot restore")
	stdout, stderr, code := program.Run(t, k.commandWithoutDataDir("run", "--from", "later", "--", program.Path(), "kubectl", "get", "deployments", "-o", "name"))
	if code != 0 || strings.TrimSpace(stdout) != "deployment.apps/"+web {
		t.Errorf("%d, %q, %q", code, stdout, stderr)
	}

	k.mustRun("snapshot", "delete", "base", "later")
	if got := k.mustRun("snapshot", "list"); strings.Count(got, "\n") != 1 {
		t.Errorf("snapshots are left: %s", got)
	}
}

// TestSnapshotsOfOneControlPlane saves snapshots of one control plane, from which others start.
func TestSnapshotsOfOneControlPlane(t *testing.T) {
	t.Parallel()
	k := newSnapshotFixture(t)
	p := k.startUp("--nodes", "0")
	t.Run("errors", func(t *testing.T) {
		k := k
		k.t = t
		k.testSnapshotErrors()
	})
	k.createConfigMap("one")
	file := filepath.Join(t.TempDir(), "Handed on.snapshot")
	requireContains(t, k.mustRun("snapshot", "save", file), file+" saved: ")
	program.RequireFailure(t, k.command("snapshot", "save", file), 1, "exists already")
	k.mustRun("snapshot", "save", "--overwrite", file)
	k.mustRun("snapshot", "save", "one")
	p.Stop(t, syscall.SIGTERM)
	t.Run("as a file of another user", func(t *testing.T) { testSnapshotFile(t, file) })
	t.Run("a failed start leaves nothing", func(t *testing.T) {
		other := k
		other.t, other.dir = t, t.TempDir()
		other.testFailedStart("one")
	})
}

// testSnapshotFile hands a snapshot from one user to another as a file.
func testSnapshotFile(t *testing.T, file string) {
	other := newSnapshotFixture(t)
	relative := other.command("up", "--ui", "none", "--nodes", "0", "--from", "."+string(filepath.Separator)+filepath.Base(file))
	relative.Dir = filepath.Dir(file)
	q := program.Start(t, relative, other.dir)
	q.AwaitReady(t)
	maps := other.newClient().CoreV1().ConfigMaps("default")
	if err := maps.Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	requireContains(t, other.mustRun("snapshot", "diff", file, "-o", "name"), "ConfigMap default/one removed\n")
	requireContains(t, other.mustRun("snapshot", "restore", file), file+" restored: ")
	if _, err := maps.Get(t.Context(), "one", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if got := other.mustRun("snapshot", "list"); strings.Count(got, "\n") != 1 {
		t.Errorf("a file of the user's own is listed: %s", got)
	}

	damaged := []byte(testutil.ReadFile(t, file))
	damaged[len(damaged)-1] ^= 1
	testutil.WriteFile(t, file, damaged)
	program.RequireFailure(t, newSnapshotFixture(t).command("up", "--ui", "none", "--from", file), 2, "the snapshot is refused: it is damaged")
	program.RequireFailure(t, newSnapshotFixture(t).command("up", "--ui", "none", "--from", filepath.Dir(file)), 1, "is a directory")
}

// commandWithoutDataDir returns a command without --data-dir.
func (k snapshotFixture) commandWithoutDataDir(args ...string) *exec.Cmd {
	cmd := program.Command(k.t, args...)
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+k.state)
	return cmd
}

// hasOwnCA reports whether Pods receive the CA of their control plane.
func hasOwnCA(ctx context.Context, k snapshotFixture) bool {
	m, err := k.newClient().CoreV1().ConfigMaps("default").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	ca, fileErr := os.ReadFile(filepath.Join(k.dir, "pki", "ca.crt"))
	return err == nil && fileErr == nil && m.Data["ca.crt"] == string(ca)
}

func TestSnapshotOfStoppedControlPlane(t *testing.T) {
	t.Parallel()
	k := newSnapshotFixture(t)
	program.RequireFailure(t, k.command("snapshot", "save", "none"), 1, "is not running: start it with")
	p := k.startUp()
	k.createConfigMap("one")
	program.WaitSettled(t, k.dir)
	k.mustRun("snapshot", "save", "one")
	k.createConfigMap("two")
	p.Stop(t, syscall.SIGTERM)
	requireContains(t, k.mustRun("snapshot", "save", "two"), "two saved: ")
	requireContains(t, k.mustRun("snapshot", "diff", "one", "-o", "name"), "ConfigMap default/two added\n")
	requireContains(t, k.mustRun("snapshot", "restore", "one"), "one restored: 0 created, ")
	requireContains(t, k.mustRun("snapshot", "diff", "two", "-o", "name"), "ConfigMap default/two removed\n")
	program.RequireFailure(t, k.command("reset"), 1, "is not running: start it with")
	p = k.startUp()
	p.Await(t, "left with one ConfigMap and kube-root-ca.crt", func() bool { return k.countConfigMaps() == 2 })
	p.Stop(t, syscall.SIGTERM)
}

// TestSnapshotOfStoppedControlPlaneWithPrefix checks that the verbs find the objects of
// a control plane that keeps them elsewhere.
func TestSnapshotOfStoppedControlPlaneWithPrefix(t *testing.T) {
	t.Parallel()
	k := newSnapshotFixture(t)
	p := k.startUp("--nodes", "0", "--kube-apiserver-arg", "etcd-prefix=/custom")
	k.createConfigMap("one")
	program.WaitSettled(t, k.dir)
	k.mustRun("snapshot", "save", "one")
	k.createConfigMap("two")
	p.Stop(t, syscall.SIGTERM)
	requireContains(t, k.mustRun("snapshot", "save", "two"), "two saved: ")
	const added = "ConfigMap default/two added\n"
	requireContains(t, k.mustRun("snapshot", "diff", "one", "-o", "name"), added)
	requireContains(t, k.mustRun("snapshot", "restore", "one"), "one restored: 0 created, ")
	if diff := k.mustRun("snapshot", "diff", "one", "-o", "name"); strings.Contains(diff, added) {
		t.Errorf("after the restore: %s", diff)
	}
	requireContains(t, k.mustRun("snapshot", "diff", "two", "-o", "name"), "ConfigMap default/two removed\n")
}

// testFailedStart fails a start from a snapshot in a folder that exists: the next one must not begin
// with the snapshot.
func (k snapshotFixture) testFailedStart(snapshot string) {
	t := k.t
	manifest := testutil.WriteFile(t, filepath.Join(t.TempDir(), "rejected.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: UPPER, namespace: default}\n")
	for _, args := range [][]string{{"--pod-cidr", "zz"}, {"-f", manifest}} {
		cmd := k.command(append([]string{"up", "--ui", "none", "--nodes", "0", "--from", snapshot}, args...)...)
		if _, stderr, code := program.Run(t, cmd); code == 0 || !strings.Contains(stderr, args[1]) && !strings.Contains(stderr, "UPPER") {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
	}
	k.startUp("--nodes", "0")
	if _, err := k.newClient().CoreV1().ConfigMaps("default").Get(t.Context(), "one", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get an object of the snapshot: %v, want that it is not found", err)
	}
}

// awaitRootCA waits for what a controller creates some time after the start.
func (k snapshotFixture) awaitRootCA() {
	k.t.Helper()
	k.mustRun("kubectl", "wait", "--for=create", "configmap/kube-root-ca.crt", "--timeout=5m")
}

// testSnapshotErrors is for a state folder without snapshots.
func (k snapshotFixture) testSnapshotErrors() {
	t := k.t
	k.mustRun("snapshot", "save", "base")
	good := []byte(testutil.ReadFile(t, k.snapshotFile("base")))
	flipped := bytes.Clone(good)
	flipped[len(flipped)/3] ^= 4
	head, state, err := snapshot.Decode(good)
	if err != nil {
		t.Fatal(err)
	}
	head.Kubernetes = "v1.5.0"
	old, err := snapshot.Encode(head, state)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"flipped": flipped, "cut": good[:len(good)/2], "empty": nil,
		"newer": append([]byte("ctrlplane snapshot 9\n"), good...), "old": old,
	} {
		testutil.WriteFile(t, k.snapshotFile(name), content)
	}
	k.awaitRootCA()
	revisionNow := func() string {
		root, err := k.newClient().CoreV1().ConfigMaps("default").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return root.ResourceVersion
	}
	revision := revisionNow()
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"snapshot", "nope"}, 2, "unknown verb"},
		{[]string{"snapshot", "restore"}, 2, "takes one name"},
		{[]string{"snapshot", "restore", "a", "b"}, 2, "takes one name"},
		{[]string{"snapshot", "restore", "bse"}, 2, `did you mean "base"?`},
		{[]string{"snapshot", "restore", "../../base"}, 2, "no such file"},
		{[]string{"snapshot", "restore", k.snapshotFile("flipped")}, 1, "it is damaged"},
		{[]string{"snapshot", "restore", "Base"}, 2, "cannot name a snapshot"},
		{[]string{"snapshot", "restore", "flipped"}, 1, "it is damaged"},
		{[]string{"snapshot", "restore", "cut"}, 1, "it is damaged"},
		{[]string{"snapshot", "restore", "empty"}, 1, "it is not a snapshot"},
		{[]string{"snapshot", "restore", "newer"}, 1, "it has format 9"},
		{[]string{"snapshot", "restore", "old"}, 2, "the snapshot is refused: it is from Kubernetes v1.5.0"},
		{[]string{"snapshot", "diff"}, 2, "one or two names"},
		{[]string{"snapshot", "diff", "base", "flipped"}, 1, "it is damaged"},
		{[]string{"snapshot", "diff", "base", "-o", "xml"}, 2, "--output"},
		{[]string{"snapshot", "diff", "base", "--update"}, 2, "--golden"},
		{[]string{"snapshot", "diff", "base", "--golden", "x", "--exit-code"}, 2, "exit code of its own"},
		{[]string{"snapshot", "save", "base"}, 1, "exists already"},
		{[]string{"snapshot", "save", "../no/such/folder/x"}, 1, "a folder that exists"},
		{[]string{"snapshot", "save", "a", "b"}, 2, "takes one name"},
		{[]string{"snapshot", "delete"}, 2, "missing snapshot name"},
		{[]string{"snapshot", "delete", "nothing-like-it"}, 2, "unknown snapshot"},
		{[]string{"snapshot", "delete", k.snapshotFile("base")}, 2, "only you can remove"},
		{[]string{"snapshot", "list", "-o", "xml"}, 2, "--output"},
		{[]string{"reset", "x"}, 2, "takes no arguments"},
		{[]string{"up", "--from", "bse"}, 2, `--from: unknown snapshot "bse": did you mean "base"?`},
		{[]string{"up", "--from", "./bse"}, 2, `--from: snapshot "./bse": no such file`},
	} {
		program.RequireFailure(t, k.command(test.args...), test.code, test.says)
	}
	broken := k
	broken.dir = filepath.Join(t.TempDir(), "new")
	program.RequireFailure(t, broken.command("up", "--from", "cut"), 2, "the snapshot is refused: it is damaged")
	if _, err := os.Stat(broken.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
	requireContains(t, k.mustRun("snapshot", "list"), "flipped ", "it is damaged", "it has format 9")
	if now := revisionNow(); now != revision {
		t.Errorf("resource version %s, was %s", now, revision)
	}

	// A full disk, and a state folder that cannot be created.
	full := k.command()
	full.Args = []string{"sh", "-c", `ulimit -f 4; exec "$0" "$@"`, program.Path(), "--data-dir", k.dir, "snapshot", "save", "big"}
	full.Path = "/bin/sh"
	program.RequireFailure(t, full, 1, `snapshot "big" cannot be written`, "file too large")
	if entries, err := os.ReadDir(filepath.Dir(k.snapshotFile("x"))); err != nil || len(entries) != 6 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	nowhere := k
	nowhere.state = filepath.Join(t.TempDir(), "file")
	testutil.WriteFile(t, nowhere.state, "")
	program.RequireFailure(t, nowhere.command("snapshot", "save", "x"), 1, `snapshot "x" cannot be`, "set XDG_STATE_HOME")
}
