package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
)

func TestServerSideApply(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	apply := func(manager string, data map[string]string, force bool) (*corev1.ConfigMap, error) {
		return configMaps(ns).Apply(t.Context(), applycorev1.ConfigMap("shared", ns).WithData(data), metav1.ApplyOptions{FieldManager: manager, Force: force})
	}
	must := func(m *corev1.ConfigMap, err error) *corev1.ConfigMap {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	must(apply("alice", map[string]string{"colour": "red", "size": "1"}, false))
	must(apply("bob", map[string]string{"shape": "round"}, false))

	// Two managers with different values of a field are in conflict, until one forces its value.
	_, err := apply("bob", map[string]string{"shape": "round", "colour": "blue"}, false)
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "alice"`) || !strings.Contains(err.Error(), ".data.colour") {
		t.Errorf("bob applies another colour: got %v, want 409 that names alice and the field", err)
	}
	if !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		t.Errorf("causes of the conflict: %v", err)
	}
	m := must(apply("bob", map[string]string{"shape": "round", "colour": "blue"}, true))
	if diff := cmp.Diff(map[string]string{"colour": "blue", "size": "1", "shape": "round"}, m.Data); diff != "" {
		t.Errorf("data after bob insisted: -want +got:\n%s", diff)
	}
	owners := map[string]string{}
	for _, f := range m.ManagedFields {
		owners[f.Manager] = string(f.Operation) + " " + f.FieldsV1.GetRawString()
	}
	want := map[string]string{"alice": `Apply {"f:data":{"f:size":{}}}`, "bob": `Apply {"f:data":{"f:colour":{},"f:shape":{}}}`}
	if diff := cmp.Diff(want, owners); diff != "" {
		t.Errorf("owners of the fields: -want +got:\n%s", diff)
	}

	// A field that its only owner no longer applies is removed; a field with another owner stays.
	must(apply("alice", map[string]string{"shape": "round"}, false))
	m = must(apply("bob", map[string]string{"colour": "blue"}, false))
	if diff := cmp.Diff(map[string]string{"colour": "blue", "shape": "round"}, m.Data); diff != "" {
		t.Errorf("data in the end: -want +got:\n%s", diff)
	}
}

// Each patch type merges lists in its own way.
func TestPatch(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	for _, tc := range []struct {
		kind  types.PatchType
		patch string
		names []string // of the containers after the patch
	}{
		{types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"second","image":"registry.invalid/b"}]}}}}`, []string{"main", "second"}},
		{types.MergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"only","image":"registry.invalid/c"}]}}}}`, []string{"only"}},
		{types.JSONPatchType, `[{"op":"test","path":"/spec/replicas","value":3},{"op":"replace","path":"/spec/template/spec/containers/0/name","value":"renamed"}]`, []string{"renamed"}},
	} {
		d, err := deployments(ns).Patch(t.Context(), "web", tc.kind, []byte(tc.patch), metav1.PatchOptions{})
		if err != nil {
			t.Fatalf("%s: %v", tc.kind, err)
		}
		var names []string
		for _, c := range d.Spec.Template.Spec.Containers {
			names = append(names, c.Name)
		}
		slices.Sort(names)
		if !slices.Equal(names, tc.names) {
			t.Errorf("%s: containers %v, want %v", tc.kind, names, tc.names)
		}
	}
}

// A stale update is refused, and a delete can require a version or a UID.
func TestOptimisticConcurrency(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	first := createObject(t, configMaps(ns), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}})
	second := updateObject(t, configMaps(ns), "m", func(m *corev1.ConfigMap) { m.Data = map[string]string{"a": "b"} })
	first.Data = map[string]string{"a": "c"}
	if _, err := configMaps(ns).Update(t.Context(), first, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("stale update: got %v, want 409", err)
	}
	for what, bad := range map[string]metav1.Preconditions{"version": {ResourceVersion: &first.ResourceVersion}, "UID": {UID: new(types.UID("other"))}} {
		if err := configMaps(ns).Delete(t.Context(), "m", metav1.DeleteOptions{Preconditions: &bad}); !apierrors.IsConflict(err) {
			t.Errorf("delete with another %s: got %v, want 409", what, err)
		}
	}
	deleteObject(t, configMaps(ns), "m", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &second.UID, ResourceVersion: &second.ResourceVersion}})
}

// The pages of a list show one state, and a watch can start where a list ended.
func TestListAndWatch(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	const many = 7
	for range many {
		createObject(t, configMaps(ns), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "m-", Labels: webLabels}})
	}
	names, opts := map[string]bool{}, metav1.ListOptions{Limit: 3, LabelSelector: "app=web"}
	var version string
	for page := 0; page == 0 || opts.Continue != ""; page++ {
		l, err := configMaps(ns).List(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		if page == 0 {
			version = l.ResourceVersion
			createObject(t, configMaps(ns), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late", Labels: webLabels}})
		}
		if l.ResourceVersion != version || len(l.Items) > 3 {
			t.Errorf("page %d has %d items of version %s, want at most 3 of %s", page, len(l.Items), l.ResourceVersion, version)
		}
		for _, m := range l.Items {
			names[m.Name] = true
		}
		opts.Continue = l.Continue
	}
	if len(names) != many || names["late"] {
		t.Errorf("the pages hold %v, want %d maps without the late one", names, many)
	}
	e := firstEvent(t, ns, metav1.ListOptions{ResourceVersion: version, LabelSelector: "app=web"})
	if m, ok := e.Object.(*corev1.ConfigMap); !ok || e.Type != watch.Added || m.Name != "late" {
		t.Errorf("the watch begins with %s %s", e.Type, toYAML(e.Object))
	}

	// A streaming list ends with a bookmark that says so.
	w, err := configMaps(ns).Watch(t.Context(), metav1.ListOptions{
		SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, LabelSelector: "app=web",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for added := 0; ; added++ {
		e := nextEvent(t, w)
		if e.Type != watch.Bookmark {
			continue
		}
		if m := e.Object.(*corev1.ConfigMap); added != many+1 || m.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
			t.Errorf("bookmark with %v after %d maps, want %d", m.Annotations, added, many+1)
		}
		return
	}
}

func firstEvent(t *testing.T, ns string, opts metav1.ListOptions) watch.Event {
	t.Helper()
	w, err := configMaps(ns).Watch(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	return nextEvent(t, w)
}

func nextEvent(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			t.Fatal("the watch ended")
		}
		return e
	case <-ctx.Done():
		t.Fatalf("no event within %v", waitTimeout)
		return watch.Event{}
	}
}
