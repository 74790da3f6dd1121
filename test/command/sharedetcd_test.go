package command_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

const sharedObjects = 100

// interruptRestore kills a control plane in the middle of a restore. One that has ended before is
// tried again.
func (k snapshotFixture) interruptRestore(p *program.ControlPlane, up ...string) {
	k.t.Helper()
	for range restoreAttempts {
		restore := k.beginRestore(sharedObjects)
		p.Kill()
		<-restore.Done
		if _, err := os.Stat(k.pendingRestore()); err == nil {
			return
		}
		p = k.startUp(up...)
	}
	k.t.Fatal("no restore was interrupted")
}

// A restore that was interrupted is finished by the next start, if nothing else has used the
// etcd. Otherwise that would delete what others have written: it is reported.
func TestInterruptedRestoreInASharedEtcd(t *testing.T) {
	t.Parallel()
	k := newSnapshotFixture(t)
	up := []string{"--nodes", "0", "--etcd-endpoints", startEtcd(t)}
	p := k.startUp(up...)
	for i := range sharedObjects {
		k.createConfigMap(fmt.Sprintf("c-%03d", i))
	}
	k.mustRun("snapshot", "save", "all")

	k.interruptRestore(p, up...)
	p = k.startUp(up...)
	if differs := k.mustRun("snapshot", "diff", "all", "-o", "name"); strings.Contains(differs, "default/c-") {
		t.Errorf("the restore was not finished:\n%s", differs)
	}

	k.interruptRestore(p, up...)
	second := k.besides()
	q := second.startUp(up...)
	second.createConfigMap("of-second")
	q.Kill()
	<-q.Done
	requireContains(t, q.Stderr.String(), "may be half restored", "start that one again and restore the snapshot that it keeps then")

	p = k.startUp(up...)
	if _, err := k.newClient().CoreV1().ConfigMaps("default").Get(t.Context(), "of-second", metav1.GetOptions{}); err != nil {
		t.Errorf("what another control plane has written is gone: %v", err)
	}
	if _, err := os.Stat(k.pendingRestore()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still pending: %v", err)
	}
	k.finishRestore(p)
}

// finishRestore runs the command that a control plane has named when it started.
func (k snapshotFixture) finishRestore(p *program.ControlPlane) {
	k.t.Helper()
	log := testutil.ReadFile(k.t, filepath.Join(k.dir, "ctrlplane.log"))
	command := regexp.MustCompile(`an interrupted restore is not finished, because .* was (?:written|deleted) since \(compared with its snapshot: .*\): 'ctrlplane --data-dir (\S+) snapshot restore ([^\s']+)'`).FindStringSubmatch(log)
	if command == nil || command[1] != k.dir {
		k.t.Fatalf("the log names no command that finishes the restore: got %q", command)
	}
	k.mustRun("snapshot", "restore", command[2])
	if differs := k.mustRun("snapshot", "diff", "all", "-o", "name"); strings.Contains(differs, "ConfigMap") {
		k.t.Errorf("restored by the command of the report:\n%s", differs)
	}
	if _, err := k.newClient().CoreV1().ConfigMaps("default").Get(k.t.Context(), "of-second", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		k.t.Errorf("the restore was asked for: %v", err)
	}
	p.Kill()
	<-p.Done
	requireContains(k.t, p.Stderr.String(), "an interrupted restore is not finished")
}

// A control plane moves into an etcd cluster with a snapshot. Starts that fail before that can be repeated,
// later ones say how to go on. What its folder holds of the embedded etcd is not taken for its state.
func TestMoveIntoACluster(t *testing.T) {
	t.Parallel()
	k := newSnapshotFixture(t)
	p := k.startUp("--nodes", "0")
	k.createConfigMap("before")
	k.mustRun("snapshot", "save", "base")
	p.Stop(t, syscall.SIGTERM)

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	refused := filepath.Join(t.TempDir(), "refused.yaml")
	testutil.WriteFile(t, refused, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad_Name, namespace: default}\n")
	cluster := []string{"up", "--ui", "none", "--nodes", "0", "--etcd-endpoints", startEtcd(t)}
	program.RequireFailure(t, k.command(append(cluster, "--from", "base", "--port", port)...), 1, "port "+port+" is in use")
	program.RequireFailure(t, k.command(append(cluster, "--from", "base", "--kube-scheduler-arg", "none=1")...), 2, "none")
	k.mustRun("snapshot", "diff", "base") // the folder's own state
	_, stderr, _ := program.Run(t, k.command(append(cluster, "--from", "base", "-f", refused)...))
	requireContains(t, stderr, "Bad_Name", "the etcd cluster holds the state of the snapshot now: start again without --from")
	p = k.startUp(cluster[3:]...)
	if _, err := k.newClient().CoreV1().ConfigMaps("default").Get(t.Context(), "before", metav1.GetOptions{}); err != nil {
		t.Errorf("in the cluster: %v", err)
	}
	p.Stop(t, syscall.SIGTERM)

	if _, stderr, code := program.Run(t, k.command("up", "--ui", "none", "--nodes", "0", "--port", port)); code != 1 || !strings.Contains(stderr, "ctrlplane: port "+port+" is in use") {
		t.Errorf("exit code %d: %s", code, stderr) // it may begin with the warning that follows
	}
	for _, args := range [][]string{{"snapshot", "save", "later"}, {"snapshot", "diff", "base"}, {"snapshot", "restore", "base"}} {
		program.RequireFailure(t, k.command(args...), 1, "it uses an etcd cluster and must be running")
	}
	p = k.startUp("--nodes", "0")
	p.Stop(t, syscall.SIGTERM)
	requireContains(t, p.Stderr.String(), "used an etcd cluster, this one uses the embedded etcd")
	program.RequireFailure(t, k.command(append(cluster, "--from", "base")...), 2, "the etcd cluster holds a control plane already")
	k.mustRun("snapshot", "diff", "base")
}
