package command_test

import (
	"context"
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
	"github.com/ctrlplane/ctrlplane/internal/upstreamversion"
)

// TestSnapshotsOfOneControlPlane saves snapshots of a control plane, running and stopped, from which others start.
func TestSnapshotsOfOneControlPlane(t *testing.T) {
	t.Parallel()
	k := newSnapshotFixture(t)
	program.RequireFailure(t, k.command("snapshot", "save", "none"), 1, "is not running: start it with")
	p := k.startUp()
	file := filepath.Join(t.TempDir(), "Handed on.snapshot")
	for _, tc := range []struct {
		name string
		test func(snapshotFixture)
	}{
		{"errors", func(k snapshotFixture) { k.testSnapshotErrors(p) }},
		{"running", func(k snapshotFixture) { k.testRunning(p) }},
		{"to a file", func(k snapshotFixture) { k.testSave(file) }},
		{"stopped", func(k snapshotFixture) { k.testStopped(p) }},
		{"as a file of another user", func(k snapshotFixture) { testSnapshotFile(k.t, file) }},
		{"a failed start leaves nothing", func(k snapshotFixture) { k.testFailedStart("one") }},
	} {
		if !t.Run(tc.name, func(t *testing.T) {
			k := k
			k.t = t
			tc.test(k)
		}) {
			return
		}
	}
}

// testRunning leaves no snapshots and no objects behind.
func (k snapshotFixture) testRunning(running *program.ControlPlane) {
	t := k.t
	requireContains(t, k.mustRun("snapshot", "save", "base"), "base saved: ", " objects, ", " KiB, in ")
	web := program.CreateWeb(t, k.dir, 2)
	k.createConfigMap("extra")
	program.WaitSettled(t, k.dir) // or a controller may create what "later" does not have
	requireContains(t, k.mustRun("snapshot", "diff", "base", "-o", "name"), "ConfigMap default/extra added\n", "Deployment.apps default/"+web+" added\n")
	requireContains(t, k.mustRun("snapshot", "diff", "base"), "--- /dev/null\n+++ ConfigMap default/extra (now)\n@@", "+kind: ConfigMap\n")
	requireContains(t, k.mustRun("snapshot", "diff", "base", "-o", "json"), `"change": "added"`, `"kind": "ConfigMap"`)
	k.mustRun("snapshot", "save", "later")
	requireContains(t, k.mustRun("snapshot", "list"), "NAME ", "base ", "later ", upstreamversion.Kubernetes)

	requireContains(t, k.mustRun("snapshot", "restore", "base"), "base restored to control plane \"default\" in "+k.dir+": ", " deleted, 0 replaced, in ")
	if l, err := k.newClient().AppsV1().Deployments("default").List(t.Context(), metav1.ListOptions{}); err != nil || len(l.Items) != 0 {
		t.Errorf("Deployments: %v, %v", l, err)
	}
	requireContains(t, k.mustRun("snapshot", "restore", "later"), "later restored to control plane \"default\" in "+k.dir+": ")
	if strings.Contains(k.mustRun("snapshot", "diff", "later", "-o", "name"), "added") {
		t.Error("objects were added after the restore")
	}
	requireContains(t, k.mustRun("reset"), `control plane "default" in `+k.dir+" reset: ", " deleted, ")
	running.Await(t, "kube-root-ca.crt, which may not have been there yet, alone", func() bool { return k.countConfigMaps() == 1 })

	// run starts a new control plane from the snapshot.
	stdout, stderr, code := program.Run(t, k.commandWithoutDataDir("run", "--from", "later", "--", program.Path(), "kubectl", "get", "deployments", "-o", "name"))
	if code != 0 || strings.TrimSpace(stdout) != "deployment.apps/"+web {
		t.Errorf("%d, %q, %q", code, stdout, stderr)
	}
	k.mustRun("snapshot", "delete", "base", "later")
	if got := k.mustRun("snapshot", "list"); strings.Count(got, "\n") != 1 {
		t.Errorf("snapshots are left: %s", got)
	}
}

// testSave saves the ConfigMap "one", also to a file.
func (k snapshotFixture) testSave(file string) {
	k.createConfigMap("one")
	program.WaitSettled(k.t, k.dir)
	requireContains(k.t, k.mustRun("snapshot", "save", file), file+" saved: ")
	program.RequireFailure(k.t, k.command("snapshot", "save", file), 1, "exists already")
	k.mustRun("snapshot", "save", "--overwrite", file)
	k.mustRun("snapshot", "save", "one")
}

// testStopped stops the control plane.
func (k snapshotFixture) testStopped(p *program.ControlPlane) {
	t := k.t
	k.createConfigMap("two")
	p.Stop(t, syscall.SIGTERM)
	requireContains(t, k.mustRun("snapshot", "save", "two"), "two saved: ")
	requireContains(t, k.mustRun("snapshot", "diff", "one", "-o", "name"), "ConfigMap default/two added\n")
	requireContains(t, k.mustRun("snapshot", "restore", "one"), "one restored to control plane \"default\" in "+k.dir+": 0 created, ")
	requireContains(t, k.mustRun("snapshot", "diff", "two", "-o", "name"), "ConfigMap default/two removed\n")
	program.RequireFailure(t, k.command("reset"), 1, "is not running: start it with")
	p = k.startUp()
	p.Await(t, "left with one ConfigMap and kube-root-ca.crt", func() bool { return k.countConfigMaps() == 2 })
	p.Stop(t, syscall.SIGTERM)
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
	requireContains(t, other.mustRun("snapshot", "restore", file), file+" restored to control plane \"default\" in "+other.dir+": ")
	if _, err := maps.Get(t.Context(), "one", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if got := other.mustRun("snapshot", "list"); strings.Count(got, "\n") != 1 {
		t.Errorf("a file of the user's own is listed: %s", got)
	}

	q.Await(t, "with its own CA", func() bool { return hasOwnCA(t.Context(), other) })
	q.Stop(t, syscall.SIGTERM)
	program.RequireFailure(t, other.command("up", "--from", file), 2, "holds a control plane already", "snapshot restore")
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
	requireContains(t, k.mustRun("snapshot", "restore", "one"), "one restored to control plane \"default\" in "+k.dir+": 0 created, ")
	if diff := k.mustRun("snapshot", "diff", "one", "-o", "name"); strings.Contains(diff, added) {
		t.Errorf("after the restore: %s", diff)
	}
	requireContains(t, k.mustRun("snapshot", "diff", "two", "-o", "name"), "ConfigMap default/two removed\n")
}

// testFailedStart fails a start from a snapshot in a folder that exists: the next one must not begin
// with the snapshot.
func (k snapshotFixture) testFailedStart(snapshot string) {
	t := k.t
	k.dir = t.TempDir()
	manifest := testutil.WriteFile(t, filepath.Join(t.TempDir(), "rejected.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: UPPER, namespace: default}\n")
	for _, args := range [][]string{{"--pod-cidr", "zz"}, {"-f", manifest}} {
		cmd := k.command(append([]string{"up", "--ui", "none", "--nodes", "0", "--from", snapshot}, args...)...)
		if _, stderr, code := program.Run(t, cmd); code == 0 || !strings.Contains(stderr, args[1]) && !strings.Contains(stderr, "UPPER") {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
	}
	p := k.startUp("--nodes", "0")
	defer p.Stop(t, syscall.SIGTERM)
	if _, err := k.newClient().CoreV1().ConfigMaps("default").Get(t.Context(), "one", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get an object of the snapshot: %v, want that it is not found", err)
	}
}

// testSnapshotErrors is about what a control plane refuses and what cannot be written. TestSnapshotErrors in
// cmd/ctrlplane has what is refused before.
func (k snapshotFixture) testSnapshotErrors(p *program.ControlPlane) {
	t := k.t
	k.state = t.TempDir()
	k.mustRun("snapshot", "save", "base")
	good := []byte(testutil.ReadFile(t, k.snapshotFile("base")))
	head, state, err := snapshot.Decode(good)
	if err != nil {
		t.Fatal(err)
	}
	head.Kubernetes = "v1.5.0"
	old, err := snapshot.Encode(head, state)
	if err != nil {
		t.Fatal(err)
	}
	testutil.WriteFile(t, k.snapshotFile("cut"), good[:len(good)/2])
	testutil.WriteFile(t, k.snapshotFile("old"), old)
	maps := k.newClient().CoreV1().ConfigMaps("default")
	revision := func() string {
		root, err := maps.Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		if err != nil {
			return ""
		}
		return root.ResourceVersion
	}
	p.Await(t, "with what a controller creates some time after the start", func() bool { return revision() != "" })
	before := revision()
	program.RequireFailure(t, k.command("snapshot", "restore", "cut"), 1, "it is damaged")
	program.RequireFailure(t, k.command("snapshot", "restore", "old"), 2, "the snapshot is refused: it is from Kubernetes v1.5.0")
	if now := revision(); now != before {
		t.Errorf("resource version %s, was %s", now, before)
	}

	program.RequireFailure(t, k.command("snapshot", "save", "../no/such/folder/x"), 1, "a folder that exists")

	// A full disk, and a state folder that cannot be entered.
	full := k.command()
	full.Args = []string{"sh", "-c", `ulimit -f 4; exec "$0" "$@"`, program.Path(), "--data-dir", k.dir, "snapshot", "save", "big"}
	full.Path = "/bin/sh"
	program.RequireFailure(t, full, 1, `snapshot "big" cannot be written`, "file too large")
	if entries, err := os.ReadDir(filepath.Dir(k.snapshotFile("x"))); err != nil || len(entries) != 3 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	nowhere := k
	nowhere.state = filepath.Join(t.TempDir(), "file")
	testutil.WriteFile(t, nowhere.state, "")
	program.RequireFailure(t, nowhere.command("snapshot", "save", "x"), 1, `snapshot "x": state folder `, "cannot be entered", "set XDG_STATE_HOME")
}
