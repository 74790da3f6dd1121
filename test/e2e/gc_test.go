package e2e_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

func configMaps(ns string) corev1client.ConfigMapInterface {
	return controlPlane.client.CoreV1().ConfigMaps(ns)
}

// createOwnedMap creates a ConfigMap with owners.
func createOwnedMap(t *testing.T, ns, name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	t.Helper()
	return createObject(t, configMaps(ns), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}})
}

func ownerReference(m *corev1.ConfigMap) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: m.Name, UID: m.UID, BlockOwnerDeletion: new(true)}
}

func TestGarbageCollectionForeground(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	owner := createOwnedMap(t, ns, "owner")
	const finalizer = "e2e.example/hold"
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{finalizer}, OwnerReferences: []metav1.OwnerReference{ownerReference(owner)}}}
	createObject(t, configMaps(ns), held)
	createOwnedMap(t, ns, "dependent", ownerReference(owner))
	deleteObject(t, configMaps(ns), "owner", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)})
	awaitGone(t, "dependent", getByName(configMaps(ns), "dependent"))
	await(t, "deletion of the held dependent", getByName(configMaps(ns), "held"), func(m *corev1.ConfigMap) bool { return m.DeletionTimestamp != nil })
	// The owner stays until the last blocking dependent is deleted.
	waiting := getObject(t, configMaps(ns), "owner")
	if waiting.DeletionTimestamp == nil || !slices.Equal(waiting.Finalizers, []string{metav1.FinalizerDeleteDependents}) {
		t.Errorf("the owner is being deleted since %v, with finalizers %v", waiting.DeletionTimestamp, waiting.Finalizers)
	}
	updateObject(t, configMaps(ns), "held", func(m *corev1.ConfigMap) { m.Finalizers = nil })
	awaitGone(t, "held dependent", getByName(configMaps(ns), "held"))
	awaitGone(t, "owner", getByName(configMaps(ns), "owner"))
}

// An owner that never existed, or is in another namespace, counts as deleted.
func TestGarbageCollectionAbsentOwner(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	createOwnedMap(t, ns, "dependent", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "never", UID: "was"})
	awaitGone(t, "dependent of an absent owner", getByName(configMaps(ns), "dependent"))

	elsewhere := createNamespace(t)
	m := createOwnedMap(t, elsewhere, "dependent", ownerReference(createOwnedMap(t, ns, "owner")))
	awaitEvent(t, elsewhere, "ConfigMap", m.Name, "OwnerRefInvalidNamespace")
	awaitGone(t, "dependent of an owner elsewhere", getByName(configMaps(elsewhere), "dependent"))
}

// A custom resource owns a Deployment, a Pod of it owns a ConfigMap, which owns
// another custom resource: deleting the first deletes all.
func TestGarbageCollectionChain(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	gvr := establishCRD(t, widgetCRD(uniqueName("chain")))
	widgets := customClient{controlPlane.dynamic.Resource(gvr).Namespace(ns)}
	root := createObject(t, widgets, newWidget(gvr, "root", 1))
	createObject(t, widgets, newWidget(gvr, "bystander", 1))

	d := newDeployment("registry.invalid/app:1")
	d.OwnerReferences = []metav1.OwnerReference{{APIVersion: root.GetAPIVersion(), Kind: root.GetKind(), Name: root.GetName(), UID: root.GetUID()}}
	createObject(t, deployments(ns), d)
	p := awaitPods(t, ns, "app=web", 3)[0]
	m := createOwnedMap(t, ns, "map", metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID})
	leaf := newWidget(gvr, "leaf", 1)
	leaf.SetOwnerReferences([]metav1.OwnerReference{ownerReference(m)})
	createObject(t, widgets, leaf)

	deleteObject(t, widgets, "root")
	awaitGone(t, "deployment", getByName(deployments(ns), "web"))
	awaitPods(t, ns, "", 0)
	awaitGone(t, "map", getByName(configMaps(ns), "map"))
	awaitGone(t, "leaf", getByName(widgets, "leaf"))
	getObject(t, widgets, "bystander")
}
