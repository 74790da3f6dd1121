package snapshotservice

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
)

// Two clusters with the same configuration have the same ID.
func TestPendingRestoreIsNotFinishedInALookalikeCluster(t *testing.T) {
	path, target := writeSnapshot(t), newTarget(t)
	mine, lookalike := newFakeStore(), newFakeStore(configMapB)
	mine.cluster, lookalike.cluster = "cdf818194e3a8c32", "cdf818194e3a8c32"
	mine.failures = []error{errors.New("killed")}
	if err := target.RestoreInitial(t.Context(), mine, path); err == nil {
		t.Fatal("the restore was not interrupted")
	}
	lookalike.records[target.recordKey()] = "another restore"
	for range 2 { // with the record of another restore, and with none
		err := errors.Join(target.CheckPending(t.Context(), lookalike), target.FinishPending(t.Context(), lookalike))
		if err == nil || !strings.Contains(err.Error(), "this cluster has no record of it") || !strings.Contains(err.Error(), "remove "+target.pendingPath()) {
			t.Errorf("got %v, want that another cluster is refused", err)
		}
		clear(lookalike.records)
	}
	if diff := cmp.Diff([]string{configMapB}, lookalike.keys()); diff != "" {
		t.Errorf("keys of the other cluster (-want +got):\n%s", diff)
	}
	if err := target.FinishPending(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{configMapA}, mine.keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(target.pendingPath()); !os.IsNotExist(err) || len(mine.records) > 0 {
		t.Errorf("pending file: %v, records %v; want that both were removed", err, mine.records)
	}
}

func TestPartlyRestoredErrorOfATemporaryFolder(t *testing.T) {
	path, store := writeSnapshot(t), newFakeStore()
	dir, err := datadir.OpenTemp()
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	target := Target{Dir: dir, Prefix: "/registry", Versions: Versions{Kubernetes: "v1.37.1"}}
	store.fail(errors.New("no answer"))
	if err := target.RestoreInitial(t.Context(), store, path); err == nil || err.Error() != "only a part was restored: no answer: start again with an empty etcd" {
		t.Errorf("got %v, want no promise that the next start restores the rest", err)
	}
}
