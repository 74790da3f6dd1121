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

func TestFinishPendingRestoresAnInterruptedRestore(t *testing.T) {
	target, store := newTarget(t), newFakeStore(configMapA)
	file, err := target.Save(t.Context(), store, 0)
	if err != nil {
		t.Fatal(err)
	}
	store.fail(errors.New("killed"))
	want, err := target.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	store.write(stateOf(configMapB))
	if _, err := target.Replace(t.Context(), store, file, want); err == nil {
		t.Fatal("the restore was not interrupted")
	}
	// Any other store would lose everything that the snapshot does not hold.
	shared := newFakeStore(configMapB)
	shared.cluster = "cdf818194e3a8c32"
	elsewhere := target
	elsewhere.Prefix = "/other"
	for _, other := range []error{target.FinishPending(t.Context(), shared), elsewhere.FinishPending(t.Context(), store)} {
		if other == nil || !strings.Contains(other.Error(), "an interrupted restore into the embedded etcd, below /registry cannot be finished in ") || !strings.Contains(other.Error(), "remove "+target.pendingPath()) {
			t.Errorf("in another store: got %v", other)
		}
	}
	if diff := cmp.Diff([]string{configMapB}, shared.keys()); diff != "" {
		t.Errorf("keys of the other store (-want +got):\n%s", diff)
	}
	for range 2 { // the second time there is nothing to finish
		if err := target.FinishPending(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{configMapA}, store.keys()); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	}
	if err := os.WriteFile(target.pendingPath(), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := target.FinishPending(t.Context(), store); err == nil || !strings.Contains(err.Error(), "remove "+target.pendingPath()) {
		t.Errorf("damaged file: got %v, want the way out", err)
	}
}
