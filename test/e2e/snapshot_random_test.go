package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

var snapshotSteps = flag.Int("snapshot-steps", 80, "number of steps of TestSnapshotRandom")

// objectModel is the expected state: RESOURCE NAMESPACE/NAME → UID and value.
type objectModel map[string]string

// randomChanger changes objects at random and tracks the expected state.
type randomChanger struct {
	t          *testing.T
	random     *rand.Rand
	namespaces []string
	crd        *apiextensionsv1.CustomResourceDefinition
	widgets    schema.GroupVersionResource
	resources  []schema.GroupVersionResource
	want       objectModel
	served     bool // whether the widgets are
}

// After any number of changes, saves and restores the expected objects exist, while
// controllers act on them all the time.
func TestSnapshotRandom(t *testing.T) {
	g := newRandomChanger(t, rand.New(rand.NewPCG(randomSeed(t), 0)))
	informer := g.startInformer()

	type saved struct {
		file   []byte
		model  objectModel
		served bool
	}
	all := []saved{{saveSnapshot(t), maps.Clone(g.want), g.served}}
	saves, restores := 1, 0
	for step := range *snapshotSteps {
		n := g.random.IntN(100)
		if step == 20 || step == 60 { // few steps have none otherwise
			g.toggleCRD()
		}
		switch {
		case n < 10:
			all = append(all, saved{saveSnapshot(t), maps.Clone(g.want), g.served})
			if len(all) > 6 {
				all = slices.Delete(all, 0, 1)
			}
			saves++
		case n < 28:
			back := all[g.random.IntN(len(all))]
			if _, err := controlPlane.server.RestoreSnapshot(t.Context(), back.file); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			g.want, g.served = maps.Clone(back.model), back.served
			restores++
			g.requireModel(fmt.Sprintf("step %d", step))
		case n < 30:
			g.toggleCRD()
		default:
			g.changeObject()
		}
	}
	t.Logf("%d saves, %d restores, %d objects", saves, restores, len(g.want))
	awaitSteadyState(t)
	g.requireModel("once settled")
	await(t, "informer that has seen all", func(context.Context) (objectModel, error) { return g.listStore(informer), nil },
		func(m objectModel) bool { return cmp.Equal(m, g.modelOfResource("configmaps")) })
}

func newRandomChanger(t *testing.T, random *rand.Rand) *randomChanger {
	g := &randomChanger{t: t, random: random, crd: widgetCRD(uniqueName("random")), want: objectModel{}, served: true}
	for range 3 {
		g.namespaces = append(g.namespaces, createSnapshotNamespace(t))
	}
	g.widgets = createCRD(t, g.crd.DeepCopy())
	g.resources = []schema.GroupVersionResource{
		corev1.SchemeGroupVersion.WithResource("configmaps"),
		corev1.SchemeGroupVersion.WithResource("services"),
		{Group: "apps", Version: "v1", Resource: "deployments"},
		g.widgets,
	}
	return g
}

const randomSelector = "random=yes"

// startInformer watches the ConfigMaps during the whole test.
func (g *randomChanger) startInformer() cache.Store {
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(controlPlane.dynamic, 0, "", func(o *metav1.ListOptions) { o.LabelSelector = randomSelector })
	informer := factory.ForResource(g.resources[0]).Informer()
	factory.Start(g.t.Context().Done())
	if !cache.WaitForCacheSync(g.t.Context().Done(), informer.HasSynced) {
		g.t.Fatal("the informer has not synced")
	}
	return informer.GetStore()
}

func (g *randomChanger) listStore(store cache.Store) objectModel {
	m := objectModel{}
	for _, obj := range store.List() {
		g.addToModel(m, g.resources[0], obj.(*unstructured.Unstructured))
	}
	return m
}

func (g *randomChanger) addToModel(m objectModel, of schema.GroupVersionResource, u *unstructured.Unstructured) {
	m[fmt.Sprintf("%s %s/%s", of.Resource, u.GetNamespace(), u.GetName())] = fmt.Sprint(u.GetUID(), " ", u.GetAnnotations()["v"])
}

func (g *randomChanger) modelOfResource(resource string) objectModel {
	m := maps.Clone(g.want)
	maps.DeleteFunc(m, func(key, _ string) bool { return !strings.HasPrefix(key, resource) })
	return m
}

// requireModel compares the objects with the expected state.
func (g *randomChanger) requireModel(when string) {
	g.t.Helper()
	there := objectModel{}
	for _, of := range g.resources {
		if of == g.widgets && !g.served {
			continue
		}
		// A restored definition may be served only some time after the restore.
		l := await(g.t, when+": list of "+of.Resource, listBySelector(controlPlane.dynamic.Resource(of), randomSelector), anyState)
		for i := range l.Items {
			g.addToModel(there, of, &l.Items[i])
		}
	}
	if diff := cmp.Diff(g.want, there); diff != "" {
		g.t.Fatalf("%s: -want +got:\n%s", when, diff)
	}
}

// changeObject creates, updates or deletes one object.
func (g *randomChanger) changeObject() {
	g.t.Helper()
	of := g.resources[g.random.IntN(len(g.resources))]
	if of == g.widgets && !g.served {
		return
	}
	ns, name := g.namespaces[g.random.IntN(len(g.namespaces))], fmt.Sprintf("x-%d", g.random.IntN(4))
	client := controlPlane.dynamic.Resource(of).Namespace(ns)
	key := fmt.Sprintf("%s %s/%s", of.Resource, ns, name)
	var err error
	var u *unstructured.Unstructured
	switch {
	case g.want[key] == "":
		u, err = client.Create(g.t.Context(), g.newObject(of, name), metav1.CreateOptions{})
	case g.random.IntN(2) == 0:
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"v":"%d"}}}`, g.random.IntN(1000))
		u, err = client.Patch(g.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	default:
		err = client.Delete(g.t.Context(), name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
		delete(g.want, key)
	}
	if err != nil {
		g.t.Fatalf("%s: %v", key, err)
	}
	if u != nil {
		g.addToModel(g.want, of, u)
	}
}

func (g *randomChanger) newObject(of schema.GroupVersionResource, name string) *unstructured.Unstructured {
	kinds := map[string]string{"configmaps": "ConfigMap", "services": "Service", "deployments": "Deployment", "widgets": "Widget"}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(of.GroupVersion().String())
	u.SetKind(kinds[of.Resource])
	u.SetName(name)
	u.SetLabels(map[string]string{"random": "yes"})
	labels := map[string]any{"app": name}
	switch of.Resource {
	case "services":
		u.Object["spec"] = map[string]any{"type": "NodePort", "selector": labels, "ports": []any{map[string]any{"port": int64(80)}}}
	case "deployments":
		u.Object["spec"] = map[string]any{
			"replicas": int64(2), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "registry.invalid/app:1"}}},
			},
		}
	case "widgets":
		u.Object["spec"] = map[string]any{"size": int64(1)}
	}
	return u
}

// toggleCRD deletes the definition of the widgets, with all of them, or creates another one.
func (g *randomChanger) toggleCRD() {
	g.t.Helper()
	crds := controlPlane.extensions.ApiextensionsV1().CustomResourceDefinitions()
	if g.served = !g.served; g.served {
		createCRD(g.t, g.crd.DeepCopy())
		return
	}
	deleteObject(g.t, crds, g.crd.Name)
	awaitGone(g.t, "definition", getByName(crds, g.crd.Name))
	maps.DeleteFunc(g.want, func(key, _ string) bool { return strings.HasPrefix(key, "widgets") })
}
