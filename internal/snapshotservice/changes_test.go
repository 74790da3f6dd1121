package snapshotservice

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

// An object that another one of the same name replaces is deleted before: watches see both changes.
func TestChangesOfReplacedObjects(t *testing.T) {
	state := func(uid string) snapshot.State {
		return snapshot.State{Entries: []snapshot.Entry{{Key: configMapA, Value: []byte(uid)}}}
	}
	for name, tc := range map[string]struct {
		before, want snapshot.State
		written      etcd.WriteResult
		changes      []string
	}{
		"replaced":            {state("old"), state("new"), etcd.WriteResult{Revisions: map[string]int64{configMapA: 63}, Deletions: map[string]int64{configMapA: 62}}, []string{"62 old deleted: true", "63 new deleted: false"}},
		"only deleted so far": {state("old"), state("new"), etcd.WriteResult{Revisions: map[string]int64{configMapA: 62}, Deletions: map[string]int64{configMapA: 62}}, []string{"62 old deleted: true"}},
		"deleted":             {state("old"), snapshot.State{}, etcd.WriteResult{Revisions: map[string]int64{configMapA: 62}, Deletions: map[string]int64{configMapA: 62}}, []string{"62 old deleted: true"}},
		"updated":             {state("old"), state("new"), etcd.WriteResult{Revisions: map[string]int64{configMapA: 62}}, []string{"62 new deleted: false"}},
	} {
		var got []string
		for _, c := range changes(tc.before, tc.want, tc.written, time.Time{}) {
			got = append(got, fmt.Sprintf("%d %s deleted: %v", c.Revision, c.Value, c.Deleted))
		}
		if diff := cmp.Diff(tc.changes, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
