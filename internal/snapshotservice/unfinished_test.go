package snapshotservice

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

const configMapC = "/configmaps/default/c"

// interruptRestore interrupts a restore of configMapA and configMapC into a store that holds
// configMapB, once it has written what partly says.
func interruptRestore(t *testing.T, store *fakeStore, partly snapshot.State) Target {
	t.Helper()
	target := newTarget(t)
	store.cluster = "cdf818194e3a8c32"
	file, err := target.Encode(stateOf(configMapA, configMapC))
	if err != nil {
		t.Fatal(err)
	}
	want, err := target.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	store.fail(errors.New("killed"))
	if _, err := target.Replace(t.Context(), store, file, want); err == nil {
		t.Fatal("the restore was not interrupted")
	}
	store.write(partly)
	return target
}

// An interrupted restore must not undo what was written after it.
func TestInterruptedRestoreIsNotFinishedAfterOtherChanges(t *testing.T) {
	partly := stateOf(configMapA, configMapB)
	changed := stateOf(configMapA, configMapB)
	changed.Entries[0].Value = []byte(`{"metadata":{"uid":"` + configMapA + `"},"data":{"by":"another"}}`)
	lease := stateOf(configMapA, configMapB, "/leases/default/l")
	for _, test := range []struct {
		name  string
		then  []snapshot.State
		want  string // the reason why it is not finished; empty = it is finished
		state []string
	}{
		{"nothing else", nil, "", []string{configMapA, configMapC}},
		{"the rest of the restore", []snapshot.State{stateOf(configMapA), stateOf(configMapA, configMapC)}, "", []string{configMapA, configMapC}},
		{"a Lease", []snapshot.State{lease}, "", []string{configMapA, configMapC}},
		{"created", []snapshot.State{stateOf(configMapA, configMapB, "/configmaps/default/d")},
			"because configmaps default/d was written since (compared with its snapshot: 1 missing, 0 different, 2 added)", []string{configMapA, configMapB, "/configmaps/default/d"}},
		{"changed", []snapshot.State{changed},
			"because configmaps default/a was written since (compared with its snapshot: 1 missing, 1 different, 1 added)", []string{configMapA, configMapB}},
		{"what is restored was deleted again", []snapshot.State{stateOf(configMapB)},
			"because configmaps default/a was deleted since (compared with its snapshot: 2 missing, 0 different, 1 added)", []string{configMapB}},
		{"created and deleted", []snapshot.State{stateOf(configMapA, configMapB, "/configmaps/default/d"), partly},
			"because configmaps default/d was written since", []string{configMapA, configMapB}},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := newFakeStore(configMapB)
			target := interruptRestore(t, store, partly)
			for _, state := range test.then {
				store.write(state)
			}
			requireFinishedOrReported(t, target, store, test.want)
			var keys []string
			for _, key := range store.keys() {
				if !snapshot.IsTransient(key) {
					keys = append(keys, key)
				}
			}
			if diff := cmp.Diff(test.state, keys); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}

func requireFinishedOrReported(t *testing.T, target Target, store *fakeStore, reason string) {
	t.Helper()
	err := target.FinishPending(t.Context(), store)
	owner, ownerErr := os.ReadFile(target.Dir.Join(ownerFile))
	if record := store.records[target.recordKey()]; ownerErr != nil || target.HasPending() || strings.HasPrefix(record, string(owner)) {
		t.Errorf("the restore is still pending: record %s, owner %s, %v", record, owner, ownerErr)
	}
	if reason == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	unfinished, ok := errors.AsType[*UnfinishedError](err)
	if !ok || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), "snapshot restore "+target.Dir.Join(unfinishedFile)+"'") {
		t.Fatalf("got %v, want that it is not finished %s", err, reason)
	}
	file, err := os.ReadFile(unfinished.Path)
	if err == nil {
		_, err = target.Decode(file)
	}
	if err != nil {
		t.Errorf("the command that finishes it has no snapshot: %v", err)
	}
	if err := target.FinishPending(context.Background(), store); err != nil {
		t.Errorf("it is reported twice: %v", err)
	}
}

// What others write while a start finishes a restore is not undone, either.
func TestInterruptedRestoreIsNotFinishedDuringOtherChanges(t *testing.T) {
	partly := stateOf(configMapA, configMapB)
	for _, test := range []struct {
		name string
		then func(*fakeStore)
		want string
	}{
		{"a ConfigMap", func(s *fakeStore) { s.write(stateOf(configMapA, configMapB, "/configmaps/default/d")) }, "because configmaps default/d was written since"},
		{"a Lease", func(s *fakeStore) {
			s.write(stateOf(configMapA, configMapB, "/leases/default/l"))
			s.beforeRest = nil
		}, ""},
		{"a Lease, always", func(s *fakeStore) {
			s.write(stateOf(configMapA, configMapB, fmt.Sprintf("/leases/default/l%d", len(s.states))))
		}, "because others write at the same time"},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := newFakeStore(configMapB)
			target := interruptRestore(t, store, partly)
			store.beforeRest = func() { test.then(store) }
			requireFinishedOrReported(t, target, store, test.want)
		})
	}
}

// Changes that are not known any more may have been made by others.
func TestInterruptedRestoreIsNotFinishedAfterACompaction(t *testing.T) {
	store := newFakeStore(configMapB)
	target := interruptRestore(t, store, stateOf(configMapA, configMapB))
	store.compacted = 2
	requireFinishedOrReported(t, target, store, "because others may have written since: etcd has compacted the revisions since then")
}

// What has the name of the file already is kept.
func TestUnfinishedSnapshotReplacesNothing(t *testing.T) {
	store := newFakeStore(configMapB)
	target := interruptRestore(t, store, stateOf(configMapA, configMapB))
	if err := os.Mkdir(target.Dir.Join(unfinishedFile), 0o700); err != nil {
		t.Fatal(err)
	}
	testutil.WriteFile(t, target.Dir.Join("unfinished-2.snapshot"), "older")
	store.compacted = 2
	unfinished, ok := errors.AsType[*UnfinishedError](target.FinishPending(t.Context(), store))
	if !ok || unfinished.Path != target.Dir.Join("unfinished-3.snapshot") {
		t.Errorf("got %+v", unfinished)
	}
	if file, err := os.ReadFile(target.Dir.Join("unfinished-2.snapshot")); err != nil || string(file) != "older" {
		t.Errorf("got %s, %v", file, err)
	}
}

// A control plane that starts while the restore of another one is pending says so.
func TestFindOther(t *testing.T) {
	store := newFakeStore(configMapB)
	first, second := interruptRestore(t, store, stateOf(configMapA)), newTarget(t)
	if got, err := second.FindOther(t.Context(), store); err != nil || !strings.Contains(got, "may be half restored") || !strings.Contains(got, "start that one again and restore the snapshot that it keeps then") || !strings.Contains(got, second.recordKey()) {
		t.Errorf("got %q, %v", got, err)
	}
	if err := first.FinishPending(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if got, err := second.FindOther(t.Context(), store); err != nil || got != "" {
		t.Errorf("finished: got %q, %v", got, err)
	}
}

// A user of etcd may have no permission but for the keys of the API server.
func TestFindOtherWithoutPermission(t *testing.T) {
	store := newFakeStore(configMapB)
	store.cluster, store.recordError = "cdf818194e3a8c32", rpctypes.ErrPermissionDenied
	if got, err := newTarget(t).FindOther(t.Context(), store); err != nil || got != "" {
		t.Errorf("got %q, %v; want nothing", got, err)
	}
}
