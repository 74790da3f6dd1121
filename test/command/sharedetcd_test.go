package command_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

const sharedObjects = 300

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
	log, err := os.ReadFile(filepath.Join(k.dir, "ctrlplane.log"))
	if err != nil {
		k.t.Fatal(err)
	}
	command := regexp.MustCompile(`an interrupted restore is not finished, because .* was (?:written|deleted) since \(compared with its snapshot: .*\): \\?"ctrlplane --data-dir (\S+) snapshot restore ([^\s"\\]+)`).FindStringSubmatch(string(log))
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
