package snapshotservice

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

const widgetsKey = "/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com"

func widgetsCRD(uid string, served bool) snapshot.State {
	return snapshot.State{Entries: []snapshot.Entry{{Key: widgetsKey, Value: fmt.Appendf(nil, `{
		"metadata": {"uid": %q},
		"spec": {"group": "example.com", "names": {"plural": "widgets"}, "versions": [{"name": "v1", "served": %v}]},
		"status": {"conditions": [{"type": "Established", "status": "True"}]}
	}`, uid, served)}}}
}

func TestChangedCRDs(t *testing.T) {
	for _, tt := range []struct {
		name         string
		before, want snapshot.State
		served       bool
		replaced     bool
	}{
		{"created", snapshot.State{}, widgetsCRD("a", true), true, true},
		{"deleted", widgetsCRD("a", true), snapshot.State{}, false, true},
		{"replaced", widgetsCRD("a", true), widgetsCRD("b", true), true, true},
		{"updated", widgetsCRD("a", false), widgetsCRD("a", true), true, false},
		{"not served any more", widgetsCRD("a", true), widgetsCRD("a", false), false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			written := etcd.WriteResult{Revisions: map[string]int64{widgetsKey: 5, "/pods/default/a": 6}}
			want := []changedCRD{{
				prefix: "example.com/widgets", resource: "widgets", replaced: tt.replaced,
				versions: map[string]bool{"example.com/v1": tt.served},
			}}
			got := changedCRDs(tt.before, tt.want, written)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(changedCRD{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
