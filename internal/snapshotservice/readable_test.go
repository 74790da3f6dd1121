package snapshotservice

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

// refuseEntry is a CheckReadable that fails for the entry of a key.
func refuseEntry(key string) func(snapshot.State, snapshot.State) error {
	return func(state, stored snapshot.State) error {
		if e := entryOf(state, key); e != nil && !stored.Has(*e) {
			return errors.New(key + " cannot be read")
		}
		return nil
	}
}

// Values that the API server cannot read stay so if they are not written.
func TestRestoreKeepsUnreadableValues(t *testing.T) {
	for name, test := range map[string]struct {
		change snapshot.State // after the snapshot was saved
		want   string
	}{
		"stored already": {change: stateOf(configMapA, configMapB)},
		"deleted since":  {change: stateOf(configMapB), want: "the snapshot is refused: " + configMapA + " cannot be read"},
		"changed since": {
			change: snapshot.State{Entries: []snapshot.Entry{{Key: configMapA, Value: []byte("{}")}}},
			want:   "the snapshot is refused: " + configMapA + " cannot be read",
		},
	} {
		t.Run(name, func(t *testing.T) {
			target, store := newTarget(t), newFakeStore(configMapA)
			target.CheckReadable = refuseEntry(configMapA)
			s := newStartedService(t, (&parts{}).config(target, store))
			file, err := s.Save(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			store.write(test.change)
			before := store.keys()
			_, err = s.Restore(t.Context(), file)
			if test.want != "" {
				if err == nil || err.Error() != test.want {
					t.Errorf("got %v, want %s", err, test.want)
				}
				if diff := cmp.Diff(before, store.keys()); diff != "" {
					t.Errorf("keys after a refused restore (-want +got):\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{configMapA}, store.keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}

// What the start could not read is what Reset restores.
func TestResetRestoresUnreadableValues(t *testing.T) {
	target, store := newTarget(t), newFakeStore(configMapA)
	target.CheckReadable = refuseEntry(configMapA)
	s := newStartedService(t, (&parts{}).config(target, store))
	s.BeforeChange(t.Context())
	store.write(stateOf(configMapB))
	if _, err := s.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{configMapA}, store.keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func TestUnreadableInitialSnapshotIsRefused(t *testing.T) {
	path, target := writeSnapshot(t), newTarget(t)
	target.CheckReadable = refuseEntry(configMapA)
	if err := target.PlaceInitial(Initial{Path: path}); err == nil || !strings.HasPrefix(err.Error(), "the snapshot is refused: ") {
		t.Errorf("got %v", err)
	}
}
