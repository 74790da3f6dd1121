package snapshotservice

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// writeSnapshot returns the path of a snapshot that holds configMapA.
func writeSnapshot(t *testing.T) (path string) {
	t.Helper()
	file, err := newTarget(t).Save(t.Context(), newFakeStore(configMapA), 0)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "file")
	testutil.WriteFile(t, path, file)
	return path
}

func TestInitialSnapshotOfTheEmbeddedEtcd(t *testing.T) {
	path, empty, target := writeSnapshot(t), newFakeStore(), newTarget(t)
	if err := errors.Join(target.PlaceInitial(Initial{Path: path}), target.FinishPending(t.Context(), empty)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{configMapA}, empty.keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if err := target.PlaceInitial(Initial{Path: path + ".missing"}); err == nil {
		t.Error("a missing file was accepted")
	}
	if err := os.MkdirAll(target.Dir.Join("etcd", "member"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := target.PlaceInitial(Initial{Path: path}); err == nil || !strings.Contains(err.Error(), "holds a control plane already") {
		t.Errorf("data folder with etcd: got %v", err)
	}
}

func TestInitialSnapshotOfACluster(t *testing.T) {
	path, target := writeSnapshot(t), newTarget(t)
	used, empty := newFakeStore(configMapB), newFakeStore()
	used.cluster, empty.cluster = "1", "2"
	if err := os.MkdirAll(target.Dir.Join("etcd", "member"), 0o700); err != nil { // of earlier starts without a cluster
		t.Fatal(err)
	}
	if err := target.RestoreInitial(t.Context(), used, Initial{Path: path}); err == nil || !strings.Contains(err.Error(), "the etcd cluster holds a control plane already") {
		t.Errorf("cluster with objects: got %v", err)
	}
	empty.failures = []error{errors.New("killed")}
	if err := target.RestoreInitial(t.Context(), empty, Initial{Path: path}); err == nil {
		t.Fatal("the restore was not interrupted")
	}
	if err := target.FinishPending(t.Context(), used); err == nil || !strings.Contains(err.Error(), "into etcd cluster 2, below /registry cannot be finished in etcd cluster 1, below /registry") {
		t.Errorf("another cluster: got %v", err)
	}
	if err := target.FinishPending(t.Context(), empty); err != nil {
		t.Error(err)
	}
	for want, store := range map[string]*fakeStore{configMapA: empty, configMapB: used} {
		if diff := cmp.Diff([]string{want}, store.keys()); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	}
}
