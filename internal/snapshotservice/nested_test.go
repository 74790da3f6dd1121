package snapshotservice

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Control planes with prefixes below each other share keys: a restore of the outer one must not delete
// those of the inner one.
func TestRestoreKeepsANestedControlPlane(t *testing.T) {
	target := newTarget(t)
	file, err := target.Save(t.Context(), newFakeStore(configMapA), 0)
	if err != nil {
		t.Fatal(err)
	}
	for prefix, keys := range map[string][]string{
		"/team-b":     {"/team-b/namespaces/kube-system"},
		"/teams/b":    {"/teams/b/namespaces/kube-system"},
		"/b.teams":    {"/b.teams/namespaces/kube-system"},
		"/b.teams/of": {"/b.teams/of/namespaces/kube-system"},
	} {
		store := newFakeStore(append(keys, configMapB, "/namespaces/kube-system")...)
		before := store.keys()
		service := newStartedService(t, new(parts).config(target, store))
		want, err := target.Decode(file)
		_, running := service.Restore(t.Context(), file)
		_, stopped := target.Replace(t.Context(), store, file, want)
		if err != nil {
			t.Fatal(err)
		}
		text := "nothing was restored: a restore replaces all keys below /registry in etcd, and another control plane has its own below /registry" + prefix +
			": start that one from a snapshot of it with an etcd-prefix that is not below /registry, or delete its keys if it does not exist any more"
		for how, err := range map[string]error{"running": running, "stopped": stopped} {
			if _, refused := errors.AsType[usage.Error](err); !refused || err.Error() != text {
				t.Errorf("%s: got %v, want %s", how, err, text)
			}
		}
		if target.HasPending() {
			t.Error("a restore is pending")
		}
		text = "a snapshot has all keys below /registry in etcd, and another control plane has its own below /registry" + prefix +
			": start that one with an etcd-prefix that is not below /registry, or delete its keys if it does not exist any more"
		if _, err := target.Save(t.Context(), store, 0); err == nil || err.Error() != text {
			t.Errorf("save: got %v, want %s", err, text)
		}
		if diff := cmp.Diff(before, store.keys()); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	}
}

// A program that did not check has saved it.
func TestSnapshotWithANestedControlPlaneIsRefused(t *testing.T) {
	target := newTarget(t)
	state, err := newFakeStore("/team-b/namespaces/kube-system", configMapA).ReadState(t.Context(), target.Prefix, 0)
	if err != nil {
		t.Fatal(err)
	}
	file, err := snapshot.Encode(snapshot.Header{Kubernetes: target.Versions.Kubernetes}, state)
	if err != nil {
		t.Fatal(err)
	}
	const want = "the snapshot is refused: it contains the state of another control plane, below /team-b"
	if _, err := target.Decode(file); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Objects may be called so, too.
func TestRestoreOfNamesLikeThoseOfANestedControlPlane(t *testing.T) {
	target := newTarget(t)
	store := newFakeStore("/namespaces/kube-system",
		"/configmaps/namespaces/kube-system", "/services/specs/namespaces/kube-system",
		"/example.com/namespaces/kube-system", "/apiextensions.k8s.io/customresourcedefinitions/namespaces.example.com",
		"/example.com/widgets/namespaces/kube-system", "/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com",
	)
	file, err := target.Save(t.Context(), newFakeStore(configMapA), 0)
	if err != nil {
		t.Fatal(err)
	}
	want, err := target.Decode(file)
	_, replaceErr := target.Replace(t.Context(), store, file, want)
	if err := errors.Join(err, replaceErr); err != nil || !slices.Equal(store.keys(), []string{configMapA}) {
		t.Errorf("%v, keys %q", err, store.keys())
	}
}
