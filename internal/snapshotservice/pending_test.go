package snapshotservice

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// Two clusters with the same configuration have the same ID.
func TestPendingRestoreIsNotFinishedInALookalikeCluster(t *testing.T) {
	path, target := writeSnapshot(t), newTarget(t)
	mine, lookalike := newFakeStore(), newFakeStore(configMapB)
	mine.cluster, lookalike.cluster = "cdf818194e3a8c32", "cdf818194e3a8c32"
	mine.fail(errors.New("killed"))
	if err := target.RestoreInitial(t.Context(), mine, Initial{Path: path}); err == nil {
		t.Fatal("the restore was not interrupted")
	}
	if err := target.CheckPending(t.Context(), lookalike); err != nil {
		t.Error(err)
	}
	requireFinishedOrReported(t, target, lookalike, "because its record in etcd is gone: another control plane has restored a snapshot since, or this is another cluster with the same ID (compared with its snapshot: 1 missing, 0 different, 1 added)")
	if diff := cmp.Diff([]string{configMapB}, lookalike.keys()); diff != "" {
		t.Errorf("keys of the other cluster (-want +got):\n%s", diff)
	}
}

// Another control plane that restores in the same cluster replaces the record, and deletes it
// at its end.
func TestInterruptedRestoreIsNotFinishedAfterAnotherRestore(t *testing.T) {
	for _, ended := range []bool{true, false} {
		store := newFakeStore(configMapB)
		first, second := interruptRestore(t, store, stateOf(configMapA)), newTarget(t)
		if !ended {
			store.fail(errors.New("killed"))
		}
		if _, err := second.Replace(t.Context(), store, nil, stateOf(configMapC)); (err == nil) != ended {
			t.Fatal(err)
		}
		records := maps.Clone(store.records)
		requireFinishedOrReported(t, first, store, "because its record in etcd is gone: another control plane has restored a snapshot since")
		if diff := cmp.Diff(records, store.records); diff != "" {
			t.Errorf("the record of the other restore (-want +got):\n%s", diff)
		}
	}
}

// A start with --from replaces its own snapshot of a start that was killed, but not a restore
// that is pending in an etcd cluster.
func TestInitialSnapshotKeepsAPendingRestore(t *testing.T) {
	path := writeSnapshot(t)
	target := interruptRestore(t, newFakeStore(configMapB), stateOf(configMapA))
	before := testutil.ReadFile(t, target.pendingPath())
	if err := target.PlaceInitial(Initial{Path: path}); err == nil || !strings.Contains(err.Error(), "an interrupted restore into etcd cluster cdf818194e3a8c32, below /registry is pending") || !strings.Contains(err.Error(), "remove "+target.pendingPath()) {
		t.Errorf("got %v, want that it is refused", err)
	}
	if after, err := os.ReadFile(target.pendingPath()); err != nil || string(after) != before {
		t.Errorf("the pending restore was replaced: %v", err)
	}
	target = newTarget(t)
	for range 2 {
		if err := target.PlaceInitial(Initial{Path: path}); err != nil {
			t.Error(err)
		}
	}
	testutil.WriteFile(t, target.pendingPath(), "damaged")
	if err := target.PlaceInitial(Initial{Path: path}); err == nil || !strings.Contains(err.Error(), "remove "+target.pendingPath()) {
		t.Errorf("damaged file: got %v", err)
	}
}

// A restore that could not begin, or whose record could not be deleted at its end, is not that
// of another control plane.
func TestRecordOfARestoreThatIsOver(t *testing.T) {
	file, want := []byte("a snapshot"), stateOf(configMapA)
	for name, leave := range map[string]func(*testing.T, Target, *fakeStore){
		"the pending file cannot be written": func(t *testing.T, target Target, store *fakeStore) {
			if err := os.MkdirAll(filepath.Join(target.pendingPath(), "in the way"), 0o700); err != nil {
				t.Fatal(err)
			}
			if _, err := target.Replace(t.Context(), store, file, want); err == nil || !strings.HasPrefix(err.Error(), "nothing was restored") {
				t.Errorf("got %v", err)
			}
			if len(store.records) > 0 {
				t.Errorf("records left: %v", store.records)
			}
		},
		"its record cannot be deleted": func(t *testing.T, target Target, store *fakeStore) {
			store.keepRecords = true
			if _, err := target.Replace(t.Context(), store, file, want); err != nil {
				t.Error(err)
			}
			store.keepRecords = false
			if len(store.records) == 0 {
				t.Error("no record was left")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			target, store := newTarget(t), newFakeStore(configMapB)
			store.cluster = "cdf818194e3a8c32"
			leave(t, target, store)
			if got, err := target.FindOther(t.Context(), store); err != nil || got != "" {
				t.Errorf("got %q, %v", got, err)
			}
			if len(store.records) > 0 {
				t.Errorf("records left: %v", store.records)
			}
		})
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
	if err := target.RestoreInitial(t.Context(), store, Initial{Path: path}); err == nil || err.Error() != "only a part was restored: no answer: start again with an empty etcd" {
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
	testutil.WriteFile(t, target.pendingPath(), "damaged")
	if err := target.FinishPending(t.Context(), store); err == nil || !strings.Contains(err.Error(), "remove "+target.pendingPath()) {
		t.Errorf("damaged file: got %v, want the way out", err)
	}
}
