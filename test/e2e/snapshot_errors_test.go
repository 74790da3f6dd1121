package e2e_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

// A refused restore changes nothing, not even which controllers run.
func TestSnapshotRestoreErrors(t *testing.T) {
	createSnapshotNamespace(t)
	awaitSteadyState(t) // the writes of earlier tests would count
	file := saveSnapshot(t)
	head, state, err := snapshot.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	from := func(version string) []byte {
		h := head
		h.Kubernetes = version
		data, err := snapshot.Encode(h, state)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	flipped := slices.Clone(file)
	flipped[len(flipped)/2] ^= 1
	for name, bad := range map[string]struct {
		file []byte
		says string
	}{
		"empty":         {nil, "it is not a snapshot"},
		"other file":    {[]byte("apiVersion: v1\nkind: ConfigMap\n"), "it is not a snapshot"},
		"flipped":       {flipped, "it is damaged"},
		"cut short":     {file[:len(file)-1], "it is damaged"},
		"newer form":    {slices.Concat([]byte("ctrlplane snapshot 2\n"), file), "it has format 2"},
		"newer minor":   {from("v1.38.0"), "it is from Kubernetes v1.38.0"},
		"older minor":   {from("v1.35.2"), "it is from Kubernetes v1.35.2"},
		"another major": {from("v2.37.0"), "it is from Kubernetes v2.37.0"},
	} {
		t.Run(name, func(t *testing.T) {
			// A restart of the controllers writes more than 20 times, and so do those that renew Leases, if it takes long.
			await(t, "refusal without writes", func(ctx context.Context) (int64, error) {
				revision := currentState(t).Revision
				_, err := controlPlane.server.RestoreSnapshot(ctx, bad.file)
				if err == nil || !strings.Contains(err.Error(), bad.says) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %v, want %q", err, bad.says)
				}
				return currentState(t).Revision - revision, nil
			}, func(writes int64) bool { return writes <= 20 })
		})
	}
	restoreSnapshot(t, from("v1.36.9")) // as after an upgrade
}

func TestSnapshotConcurrentRestores(t *testing.T) {
	createSnapshotNamespace(t)
	awaitSteadyState(t) // what is not done yet would be done after the last restore, too
	file := saveSnapshot(t)
	errs := make([]error, 4)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = newRemoteClient(t).Snapshots().Restore(t.Context(), file) })
	}
	all.Wait()
	done := 0
	for _, err := range errs {
		if err == nil {
			done++
		} else if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "another restore is running: wait until it ends") {
			t.Error(err)
		}
	}
	if done == 0 {
		t.Error(errors.Join(errs...))
	}
	requireSameState(t, file, "after all restores")
}
