package e2e_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

func configMaps(ns string) corev1client.ConfigMapInterface {
	return plane.client.CoreV1().ConfigMaps(ns)
}

// ownedMap makes a ConfigMap that belongs to its owners.
func ownedMap(t *testing.T, ns, name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	t.Helper()
	return create(t, configMaps(ns), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}})
}

func ownerMap(m *corev1.ConfigMap) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: m.Name, UID: m.UID, BlockOwnerDeletion: new(true)}
}

func TestGarbageBackground(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	owner, other := ownedMap(t, ns, "owner"), ownedMap(t, ns, "other")
	ownedMap(t, ns, "dependent", ownerMap(owner))
	ownedMap(t, ns, "shared", ownerMap(owner), ownerMap(other))
	remove(t, configMaps(ns), "owner")
	awaitGone(t, "owner", one(configMaps(ns), "owner"))
	awaitGone(t, "dependent", one(configMaps(ns), "dependent"))
	// One with another owner left stays, and forgets the one that is gone.
	await(t, "dependent with one owner", one(configMaps(ns), "shared"), func(m *corev1.ConfigMap) bool {
		return m.DeletionTimestamp == nil && len(m.OwnerReferences) == 1 && m.OwnerReferences[0].UID == other.UID
	})
}

func TestGarbageForeground(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	owner := ownedMap(t, ns, "owner")
	const finalizer = "e2e.example/hold"
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{finalizer}, OwnerReferences: []metav1.OwnerReference{ownerMap(owner)}}}
	create(t, configMaps(ns), held)
	ownedMap(t, ns, "dependent", ownerMap(owner))
	remove(t, configMaps(ns), "owner", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)})
	awaitGone(t, "dependent", one(configMaps(ns), "dependent"))
	await(t, "deletion of the held dependent", one(configMaps(ns), "held"), func(m *corev1.ConfigMap) bool { return m.DeletionTimestamp != nil })
	// The owner stays as long as a dependent does that blocks it.
	waiting := get(t, configMaps(ns), "owner")
	if waiting.DeletionTimestamp == nil || !slices.Equal(waiting.Finalizers, []string{metav1.FinalizerDeleteDependents}) {
		t.Errorf("the owner is being deleted since %v, with finalizers %v", waiting.DeletionTimestamp, waiting.Finalizers)
	}
	modify(t, configMaps(ns), "held", func(m *corev1.ConfigMap) { m.Finalizers = nil })
	awaitGone(t, "held dependent", one(configMaps(ns), "held"))
	awaitGone(t, "owner", one(configMaps(ns), "owner"))
}

func TestGarbageOrphan(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	owner := ownedMap(t, ns, "owner")
	dependent := ownedMap(t, ns, "dependent", ownerMap(owner))
	grandchild := ownedMap(t, ns, "grandchild", ownerMap(dependent))
	remove(t, configMaps(ns), "owner", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)})
	awaitGone(t, "owner", one(configMaps(ns), "owner"))
	if m := get(t, configMaps(ns), "dependent"); m.UID != dependent.UID || m.DeletionTimestamp != nil || len(m.OwnerReferences) != 0 {
		t.Errorf("the orphan has owners %v, deletion timestamp %v", m.OwnerReferences, m.DeletionTimestamp)
	}
	if m := get(t, configMaps(ns), "grandchild"); m.UID != grandchild.UID || len(m.OwnerReferences) != 1 {
		t.Errorf("the orphan's dependent has owners %v", m.OwnerReferences)
	}
}

// An owner that has never been, or is of another namespace, is no owner.
func TestGarbageAbsentOwner(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	ownedMap(t, ns, "dependent", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "never", UID: "was"})
	awaitGone(t, "dependent of an absent owner", one(configMaps(ns), "dependent"))

	elsewhere := namespace(t)
	m := ownedMap(t, elsewhere, "dependent", ownerMap(ownedMap(t, ns, "owner")))
	awaitEvent(t, elsewhere, "ConfigMap", m.Name, "OwnerRefInvalidNamespace")
	awaitGone(t, "dependent of an owner elsewhere", one(configMaps(elsewhere), "dependent"))
}

// A custom resource owns a Deployment, whose Pods own a map, which owns a custom
// resource: the end of the first is the end of all.
func TestGarbageChain(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	gvr := establish(t, widgetCRD(unique("chain")))
	widgets := custom{plane.dynamic.Resource(gvr).Namespace(ns)}
	root := create(t, widgets, newWidget(gvr, "root", 1))
	create(t, widgets, newWidget(gvr, "bystander", 1))

	d := newDeployment("registry.invalid/app:1")
	d.OwnerReferences = []metav1.OwnerReference{{APIVersion: root.GetAPIVersion(), Kind: root.GetKind(), Name: root.GetName(), UID: root.GetUID()}}
	create(t, deployments(ns), d)
	p := awaitPods(t, ns, "app=web", 3)[0]
	m := ownedMap(t, ns, "map", metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID})
	leaf := newWidget(gvr, "leaf", 1)
	leaf.SetOwnerReferences([]metav1.OwnerReference{ownerMap(m)})
	create(t, widgets, leaf)

	remove(t, widgets, "root")
	awaitGone(t, "deployment", one(deployments(ns), "web"))
	awaitPods(t, ns, "", 0)
	awaitGone(t, "map", one(configMaps(ns), "map"))
	awaitGone(t, "leaf", one(widgets, "leaf"))
	get(t, widgets, "bystander")
}
