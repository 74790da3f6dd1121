package command_test

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A snapshot of an older release lacks roles, bindings and APIServices that this one needs: a
// restore in place completes them, as a start does.
func TestRestoreOfAnOlderRelease(t *testing.T) {
	t.Parallel()
	older := newSnapshotFixture(t)
	p := older.startUp("--nodes", "0", "--kubernetes=1.34", "--no-metrics")
	older.mustRun("snapshot", "save", "older")
	missing := older.namesOfPolicy()
	p.Stop(t, syscall.SIGTERM)

	k := older
	k.dir = filepath.Join(t.TempDir(), "data")
	p = k.startUp("--nodes", "0")
	want := k.namesOfPolicy()
	if slices.Equal(missing, want) {
		t.Fatal("the older release lacks nothing")
	}
	k.mustRun("snapshot", "restore", "older")
	if diff := cmp.Diff(want, k.namesOfPolicy()); diff != "" {
		t.Errorf("after the restore (-want +got):\n%s", diff)
	}
	p.Stop(t, syscall.SIGTERM)
}

// namesOfPolicy returns the names of the objects that the API server creates for its own use.
func (k snapshotFixture) namesOfPolicy() []string {
	k.t.Helper()
	list := strings.Fields(k.mustRun("kubectl", "get", "apiservices,clusterroles,clusterrolebindings,roles,rolebindings,priorityclasses", "-A", "-o", "name"))
	slices.Sort(list)
	return list
}
