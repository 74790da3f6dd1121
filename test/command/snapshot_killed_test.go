package command_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestRestoreSurvivesKill kills a control plane during a restore: after the next
// start it has the state before or after the restore, never a mixture.
func TestRestoreSurvivesKill(t *testing.T) {
	t.Parallel()
	const objects = 100
	k := newSnapshotFixture(t)
	p := k.startUp("--nodes", "0")
	for i := range objects {
		k.createConfigMap(fmt.Sprintf("c-%03d", i))
	}
	k.mustRun("snapshot", "save", "all")
	pending := k.pendingRestore()
	begin := func() *program.ControlPlane { return k.beginRestore(objects) }
	for _, kill := range []struct {
		when  string
		begin func() (restore *program.ControlPlane)
		done  bool // the restore must be complete after the next start
	}{
		{"before anything is written", func() *program.ControlPlane { return k.startRestore(objects) }, false},
		{"as soon as it has begun", begin, true},
		{"when all is written", func() *program.ControlPlane {
			restore := begin()
			awaitExists(t, pending, false, restore.Done)
			return restore
		}, true},
	} {
		restore := kill.begin()
		p.Kill()
		<-restore.Done // it may have succeeded before
		_, err := os.Stat(pending)
		p = k.startUp("--nodes", "0")
		differing := strings.Count(k.mustRun("snapshot", "diff", "all", "-o", "name"), "ConfigMap default/c-")
		if differing != 0 && (kill.done || differing != objects) {
			t.Errorf("killed %s: %d of %d objects differ from the snapshot", kill.when, differing, objects)
		}
		t.Logf("killed %s: interrupted: %v, %d of %d objects differ", kill.when, err == nil, differing, objects)
		if _, err := os.Stat(pending); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("left behind: %v", err)
		}
		if differing != 0 {
			k.mustRun("snapshot", "restore", "all")
		}
	}
}

// restoreAttempts is how often a restore is begun that ends before that is seen.
const restoreAttempts = 20

// pendingRestore is the file that exists while a restore is pending.
func (k snapshotFixture) pendingRestore() string { return filepath.Join(k.dir, "restore") }

// startRestore changes the ConfigMaps and runs a command that restores the snapshot "all".
func (k snapshotFixture) startRestore(objects int) *program.ControlPlane {
	k.t.Helper()
	k.changeConfigMaps(objects)
	return program.Start(k.t, k.command("snapshot", "restore", "all"), k.dir)
}

// beginRestore is startRestore that returns when the restore is pending.
func (k snapshotFixture) beginRestore(objects int) *program.ControlPlane {
	k.t.Helper()
	for range restoreAttempts {
		restore := k.startRestore(objects)
		if awaitExists(k.t, k.pendingRestore(), true, restore.Done) {
			return restore
		}
		if code := restore.Cmd.ProcessState.ExitCode(); code != 0 {
			k.t.Fatalf("restore: exit code %d: %s", code, restore.Stderr)
		}
	}
	k.t.Fatal("no restore was seen")
	return nil
}

// changeConfigMaps deletes half of the objects and changes the others.
func (k snapshotFixture) changeConfigMaps(n int) {
	k.t.Helper()
	c := k.newClient().CoreV1().ConfigMaps("default")
	for i := range n {
		var err error
		name := fmt.Sprintf("c-%03d", i)
		if i%2 == 0 {
			err = c.Delete(k.t.Context(), name, metav1.DeleteOptions{})
		} else {
			_, err = c.Patch(k.t.Context(), name, types.MergePatchType, []byte(`{"data":{"changed":"yes"}}`), metav1.PatchOptions{})
		}
		if err != nil {
			k.t.Fatal(err)
		}
	}
}

// awaitExists returns as soon as a file exists, or as soon as it does not; or false when a command has
// ended before.
func awaitExists(t *testing.T, path string, there bool, ended <-chan struct{}) bool {
	t.Helper()
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	limit := time.After(program.Timeout)
	for {
		if _, err := os.Stat(path); (err == nil) == there {
			return true
		}
		select {
		case <-tick.C:
		case <-ended:
			return false
		case <-limit:
			t.Fatalf("%s: exists: %v", path, !there)
		}
	}
}
