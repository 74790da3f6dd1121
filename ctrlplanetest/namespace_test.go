package ctrlplanetest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/ctrlplanetest"
)

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// createWidget creates a custom resource with finalizers.
func createWidget(t *testing.T, cp *ctrlplanetest.ControlPlane, namespace, name string, finalizers ...string) *unstructured.Unstructured {
	t.Helper()
	client, err := dynamic.NewForConfig(cp.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	w := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}
	w.SetName(name)
	w.SetFinalizers(finalizers)
	if w, err = client.Resource(widgets).Namespace(namespace).Create(t.Context(), w, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return w
}

// requireNamespaceGone checks that a namespace no longer exists.
func requireNamespaceGone(t *testing.T, cp *ctrlplanetest.ControlPlane, namespace string) {
	t.Helper()
	_, err := cp.Client().CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("namespace %s: got %v, want not found", namespace, err)
	}
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example/c:1"}}},
	}
}

// TestHundredNamespacesInParallel runs a hundred tests in one control plane.
func TestHundredNamespacesInParallel(t *testing.T) {
	cp := ctrlplanetest.Shared(t)
	const n = 100
	names := make([]string, n)
	t.Run("all", func(t *testing.T) {
		for i := range names {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				names[i] = cp.Namespace(t)
				pod, err := cp.Client().CoreV1().Pods(names[i]).Create(t.Context(), newPod("p"), metav1.CreateOptions{})
				if err != nil {
					t.Fatal(err) // the ServiceAccount exists already
				}
				cp.WaitHealthy(t, pod)
			})
		}
	})
	seen := map[string]bool{}
	for _, name := range names {
		seen[name] = true
		requireNamespaceGone(t, cp, name)
	}
	if len(seen) != n {
		t.Errorf("%d tests had %d namespaces", n, len(seen))
	}
}

func TestNamespaceIsNamedAfterTest(t *testing.T) {
	cp := ctrlplanetest.Shared(t)
	r := newRecorder("TestÄ/__with a very long name, which is cut where the label ends, as it must be")
	var name string
	r.runTest(func(tb testing.TB) {
		name = cp.Namespace(tb)
		cp.Apply(tb, "testdata/web.yaml")
		cp.WaitHealthy(tb, cp.ObjectsByName(tb, "deploy/web", "svc/web")...)
	})
	if r.failed {
		t.Error(r.logged())
	}
	if want := "test-with-a-very-long-name-which-is-cut-where-the-"; !strings.HasPrefix(name, want) {
		t.Errorf("got %s, want %s…", name, want)
	}
	requireNamespaceGone(t, cp, name)
}

// TestNamespaceWithoutItsController deletes a namespace whose finalizer no controller removes.
func TestNamespaceWithoutItsController(t *testing.T) {
	cp := ctrlplanetest.Start(t, ctrlplanetest.Options{Controllers: []string{"*", "-namespace-controller"}})
	r := newRecorder(t.Name())
	var name string
	r.runTest(func(tb testing.TB) {
		name = cp.Namespace(tb)
		cp.Apply(tb, "testdata/web.yaml")
	})
	if r.failed {
		t.Error(r.logged())
	}
	requireNamespaceGone(t, cp, name)
}

// TestNamespaceWhoseControllerFails deletes a namespace while the calls of its controller fail.
func TestNamespaceWhoseControllerFails(t *testing.T) {
	cp := ctrlplanetest.Shared(t)
	interventions, namespaceController := cp.Control().Interventions(), []string{"namespace-controller"}
	if _, err := interventions.Fail(t.Context(), namespaceController, control.Fault{Rate: 1, Code: "500"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := interventions.Clear(context.Background(), namespaceController); err != nil {
			t.Error(err)
		}
	})
	r := newRecorder(t.Name())
	var name string
	r.runTest(func(tb testing.TB) { name = cp.Namespace(tb) })
	if r.failed {
		t.Error(r.logged())
	}
	requireNamespaceGone(t, cp, name)
}

// TestSubtestsInheritNamespace checks which namespace Apply and ObjectsByName use.
func TestSubtestsInheritNamespace(t *testing.T) {
	cp := ctrlplanetest.Shared(t)
	outer := cp.Namespace(t)
	t.Run("without its own", func(t *testing.T) {
		t.Run("deeper", func(t *testing.T) {
			if got := cp.Apply(t, "testdata/web.yaml")[0].GetNamespace(); got != outer {
				t.Errorf("got %s, want that of the outer test, %s", got, outer)
			}
		})
	})
	t.Run("with its own", func(t *testing.T) {
		own := cp.Namespace(t)
		if got := cp.ObjectsByName(t, "deploy/web")[0].GetNamespace(); got != own || own == outer {
			t.Errorf("got %s, want its own, %s, not %s", got, own, outer)
		}
	})
	if got := cp.ObjectsByName(t, "deploy/web")[0].GetNamespace(); got != outer {
		t.Errorf("got %s, want %s", got, outer)
	}
	if got := cp.ObjectsByName(newRecorder("TestOther"), "deploy/web")[0].GetNamespace(); got != "default" {
		t.Errorf("got %s, want default", got)
	}
	cp.WaitHealthy(t, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: outer, Name: "web"}})
}

// TestApplyReturnsStoredObjects applies an object in a namespace and one in none.
func TestApplyReturnsStoredObjects(t *testing.T) {
	cp := ctrlplanetest.Shared(t)
	namespace := cp.Namespace(t)
	objects := cp.Apply(t, "testdata/widgets.yaml", "testdata/web.yaml")
	want := map[string]string{"CustomResourceDefinition": "", "Deployment": namespace}
	for _, o := range objects {
		kind := o.GetObjectKind().GroupVersionKind().Kind
		if of, ok := want[kind]; ok && of != o.GetNamespace() {
			t.Errorf("%s %s is in namespace %q, want %q", kind, o.GetName(), o.GetNamespace(), of)
		}
		if o.GetUID() == "" || o.GetResourceVersion() == "" {
			t.Errorf("%s %s has the UID %q and the version %q", kind, o.GetName(), o.GetUID(), o.GetResourceVersion())
		}
		delete(want, kind)
	}
	if len(want) > 0 {
		t.Errorf("without %v", want)
	}
}
