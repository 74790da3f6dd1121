package e2e_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// The API server finishes the creation or deletion of a kind that was in progress when
// the snapshot was saved: its controllers retry while writes are blocked.
func TestSnapshotOfKindsInTransition(t *testing.T) {
	createSnapshotNamespace(t)
	crds := controlPlane.extensions.ApiextensionsV1().CustomResourceDefinitions()
	for name, under := range map[string]struct {
		way func(*apiextensionsv1.CustomResourceDefinition)
		end func(*testing.T, *apiextensionsv1.CustomResourceDefinition)
	}{
		"created": {
			func(crd *apiextensionsv1.CustomResourceDefinition) {
				for i, c := range crd.Status.Conditions {
					if c.Type == apiextensionsv1.Established {
						crd.Status.Conditions[i].Status = apiextensionsv1.ConditionFalse
					}
				}
			},
			func(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) {
				await(t, "established "+crd.Name, getByName(crds, crd.Name), func(crd *apiextensionsv1.CustomResourceDefinition) bool {
					return apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established)
				})
			},
		},
		"deleted": {
			func(crd *apiextensionsv1.CustomResourceDefinition) {
				crd.DeletionTimestamp = &metav1.Time{Time: time.Now()}
				crd.Finalizers = []string{apiextensionsv1.CustomResourceCleanupFinalizer}
			},
			func(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) {
				awaitGone(t, crd.Name, getByName(crds, crd.Name))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			crd := widgetCRD(uniqueName(name))
			with := createCRD(t, crd)
			createObject(t, customClient{controlPlane.dynamic.Resource(with).Namespace("default")}, newWidget(with, "w", 1))
			restoreSnapshot(t, editCRDInSnapshot(t, saveSnapshot(t), crd.Name, under.way))
			under.end(t, crd)
		})
	}
}

// editCRDInSnapshot returns a snapshot with one definition changed.
func editCRDInSnapshot(t *testing.T, file []byte, name string, edit func(*apiextensionsv1.CustomResourceDefinition)) []byte {
	t.Helper()
	head, state, err := snapshot.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(state.Entries, func(e snapshot.Entry) bool { return strings.HasSuffix(e.Key, "/customresourcedefinitions/"+name) })
	if i < 0 {
		t.Fatalf("%s is not in the snapshot", name)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	testutil.DecodeJSON(t, state.Entries[i].Value, crd)
	edit(crd)
	if state.Entries[i].Value, err = json.Marshal(crd); err != nil {
		t.Fatal(err)
	}
	data, err := snapshot.Encode(head, state)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
