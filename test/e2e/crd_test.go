package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

func TestCustomResource(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	gvr := establishCRD(t, widgetCRD(uniqueName("crd")))
	widgets := customClient{controlPlane.dynamic.Resource(gvr).Namespace(ns)}
	w, err := widgets.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()

	made := createObject(t, widgets, newWidget(gvr, "one", 3))
	want := map[string]any{"size": int64(3), "colour": "blue"}
	if diff := cmp.Diff(want, made.Object["spec"]); diff != "" {
		t.Errorf("spec after defaulting: -want +got:\n%s", diff)
	}
	// The status is a subresource: an update of one does not change the other.
	spoofed := made.DeepCopy()
	setField(t, spoofed, "huge", "status", "phase")
	setField(t, spoofed, int64(4), "spec", "size")
	updated, err := widgets.Update(t.Context(), spoofed, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if updated.Object["status"] != nil || updated.GetGeneration() != 2 {
		t.Errorf("after an update of the spec: status %v, generation %d", updated.Object["status"], updated.GetGeneration())
	}
	setField(t, updated, "small", "status", "phase")
	setField(t, updated, int64(9), "spec", "size")
	reported, err := widgets.UpdateStatus(t.Context(), updated, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	size, _, _ := unstructured.NestedInt64(reported.Object, "spec", "size")
	phase, _, _ := unstructured.NestedString(reported.Object, "status", "phase")
	if size != 4 || phase != "small" || reported.GetGeneration() != 2 {
		t.Errorf("after an update of the status: size %d, phase %q, generation %d", size, phase, reported.GetGeneration())
	}

	deleteObject(t, widgets, "one")
	var seen []watch.EventType
	for len(seen) < 4 {
		select {
		case e := <-w.ResultChan():
			seen = append(seen, e.Type)
		case <-time.After(waitTimeout):
			t.Fatalf("the watch saw %v", seen)
		}
	}
	if diff := cmp.Diff([]watch.EventType{watch.Added, watch.Modified, watch.Modified, watch.Deleted}, seen); diff != "" {
		t.Errorf("events: -want +got:\n%s", diff)
	}
}

// An invalid object is refused with the field and the reason.
func TestCustomResourceValidation(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	gvr := establishCRD(t, widgetCRD(uniqueName("crd")))
	widgets := customClient{controlPlane.dynamic.Resource(gvr).Namespace(ns)}
	createObject(t, widgets, newWidget(gvr, "one", 3))
	for name, bad := range map[string]struct {
		field, value string
		want         string
	}{
		"too big":       {"size", "11", "spec.size: Invalid value: 11"},
		"wrong type":    {"size", `"three"`, `spec.size: Invalid value: "string"`},
		"not in enum":   {"colour", `"green"`, `spec.colour: Unsupported value: "green"`},
		"required gone": {"size", "null", "spec.size: Required value"},
	} {
		patch := []byte(`{"spec":{"` + bad.field + `":` + bad.value + `}}`)
		_, err := widgets.Patch(t.Context(), "one", types.MergePatchType, patch, metav1.PatchOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: got %v, want 422 with %s", name, err, bad.want)
		}
	}
	pruned, err := widgets.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"spec":{"unknown":1}}`), metav1.PatchOptions{})
	if err != nil || pruned.Object["spec"].(map[string]any)["unknown"] != nil {
		t.Errorf("a field that the schema does not know: %v, %v", pruned, err)
	}
	_, err = widgets.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"spec":{"unknown":1}}`), metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `unknown field "spec.unknown"`) {
		t.Errorf("the same with strict validation: got %v, want 422", err)
	}
}

func setField(t *testing.T, obj *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(obj.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// CEL rules, the scale subresource and printer columns work as for built-in kinds.
func TestCustomResourceCELScaleAndColumns(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	gvr := establishCRD(t, widgetCRD(uniqueName("crd")))
	widgets := customClient{controlPlane.dynamic.Resource(gvr).Namespace(ns)}
	w := newWidget(gvr, "one", 3)
	setField(t, w, true, "spec", "frozen")
	createObject(t, widgets, w)
	_, err := widgets.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"spec":{"size":4}}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "a frozen widget keeps its size") {
		t.Errorf("change of a frozen widget: got %v, want 422", err)
	}
	if _, err := widgets.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"spec":{"frozen":false}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
	scaled, err := widgets.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"spec":{"replicas":5}}`), metav1.PatchOptions{}, "scale")
	if err != nil || scaled.GetKind() != "Scale" {
		t.Fatalf("scale: %v, %v", scaled, err)
	}
	if size, _, _ := unstructured.NestedInt64(getObject(t, widgets, "one").Object, "spec", "size"); size != 5 {
		t.Errorf("size %d after scaling to 5", size)
	}
	path := "/apis/" + gvr.GroupVersion().String() + "/namespaces/" + ns + "/widgets"
	table := httpGet(t, controlPlane.config, path, "application/json;as=Table;v=v1;g=meta.k8s.io")
	if !strings.Contains(table.Body, `"kind":"Table"`) || !strings.Contains(table.Body, `"cells":["one",5]`) {
		t.Errorf("as a table: %d %s", table.Code, table.Body)
	}
	schemas := getPath(controlPlane.config, "/openapi/v3/apis/"+gvr.GroupVersion().String())
	await(t, "schema in OpenAPI v3", schemas, func(a httpResponse) bool { return strings.Contains(a.Body, "a frozen widget keeps its size") })
}

// Deleting a definition deletes its objects, after their finalizers are removed.
func TestCustomResourceDefinitionDeletion(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	crd := widgetCRD(uniqueName("crd"))
	gvr := establishCRD(t, crd)
	widgets := customClient{controlPlane.dynamic.Resource(gvr).Namespace(ns)}
	held := newWidget(gvr, "held", 1)
	held.SetFinalizers([]string{"e2e.example/hold"})
	createObject(t, widgets, held)
	crds := controlPlane.extensions.ApiextensionsV1().CustomResourceDefinitions()
	deleteObject(t, crds, crd.Name)
	await(t, "deletion of the object", getByName(widgets, "held"), func(w *unstructured.Unstructured) bool { return w.GetDeletionTimestamp() != nil })
	if crd := getObject(t, crds, crd.Name); !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Terminating) {
		t.Errorf("conditions of the definition: %s", toYAML(crd.Status.Conditions))
	}
	// The handler learns of the deletion from an informer.
	err := awaitRefusal(t, "a create while the definition is deleted", "custom resource definition is terminating", dryRunCreate(widgets, newWidget(gvr, "late", 1)))
	if !apierrors.IsForbidden(err) {
		t.Errorf("create while the definition is deleted: got %v, want 403", err)
	}
	updateObject(t, widgets, "held", func(w *unstructured.Unstructured) { w.SetFinalizers(nil) })
	awaitGone(t, "definition", getByName(crds, crd.Name))
	awaitGone(t, "resource", getByName(widgets, "held"))
}

// A watch follows changes of the definition and ends when the definition is deleted.
func TestCustomResourceWatchFollowsDefinition(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	crd := widgetCRD(uniqueName("crd"))
	gvr := establishCRD(t, crd)
	widgets := customClient{controlPlane.dynamic.Resource(gvr).Namespace(ns)}
	createObject(t, widgets, newWidget(gvr, "one", 3))
	factory := dynamicinformer.NewDynamicSharedInformerFactory(controlPlane.dynamic, 0)
	informer := factory.ForResource(gvr).Informer()
	factory.Start(t.Context().Done())
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the informer has not synced")
	}

	crds := controlPlane.extensions.ApiextensionsV1().CustomResourceDefinitions()
	updateObject(t, crds, crd.Name, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["shape"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	})
	// Upstream needs up to a second to switch to the new schema.
	await(t, "watched object with the new field", func(ctx context.Context) (any, error) {
		round := fmt.Appendf(nil, `{"spec":{"shape":"round %v"}}`, time.Now())
		if _, err := widgets.Patch(ctx, "one", types.MergePatchType, round, metav1.PatchOptions{}); err != nil {
			return nil, err
		}
		o, _, err := informer.GetStore().GetByKey(ns + "/one")
		return o, err
	}, func(o any) bool {
		w, ok := o.(*unstructured.Unstructured)
		if !ok {
			return false
		}
		shape, _, _ := unstructured.NestedString(w.Object, "spec", "shape")
		return shape != ""
	})

	raw, err := widgets.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Stop()
	deleteObject(t, crds, crd.Name)
	await(t, "end of the watch", func(context.Context) (bool, error) {
		for {
			select {
			case _, more := <-raw.ResultChan():
				if !more {
					return true, nil
				}
			default:
				return false, nil
			}
		}
	}, func(ended bool) bool { return ended })
}
