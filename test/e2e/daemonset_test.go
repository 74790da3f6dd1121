package e2e_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// targetNode returns the node that the DaemonSet controller selected for a Pod.
func targetNode(p corev1.Pod) string {
	a := p.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range term.MatchFields {
			if f.Key == metav1.ObjectNameField && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return ""
}

// newDaemonSet returns a DaemonSet for the nodes of a pool. Its Pods terminate
// without a kubelet.
func newDaemonSet(pool map[string]string) *appsv1.DaemonSet {
	tmpl := podTemplate(webLabels)
	tmpl.Spec.NodeSelector = pool
	tmpl.Spec.TerminationGracePeriodSeconds = new(int64(0))
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: labelSelector(webLabels), Template: tmpl},
	}
}

// awaitTargets waits until each node has a Pod, binds the Pods as the scheduler
// does, and makes them ready.
func awaitTargets(t *testing.T, ns string, want ...fakeNode) []corev1.Pod {
	t.Helper()
	list := awaitPods(t, ns, "app=web", len(want))
	var names, got []string
	for _, n := range want {
		names = append(names, n.name)
	}
	for _, p := range list {
		requireController(t, &p, "DaemonSet", "agent")
		got = append(got, targetNode(p))
		if p.Spec.NodeName == "" {
			binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: targetNode(p)}}
			if err := pods(ns).Bind(t.Context(), binding, metav1.CreateOptions{}); err != nil {
				t.Fatalf("bind %s: %v", p.Name, err)
			}
		}
	}
	markReady(t, list...)
	slices.Sort(got)
	slices.Sort(names)
	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("nodes of the pods: -want +got:\n%s", diff)
	}
	return list
}

func TestDaemonSet(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	pool := map[string]string{"pool": uniqueName("pool")}
	first, second := startFakeNode(t, pool), startFakeNode(t, pool)
	startFakeNode(t, map[string]string{"pool": "other"}) // not selected
	sets := controlPlane.client.AppsV1().DaemonSets(ns)
	createObject(t, sets, newDaemonSet(pool))
	awaitStatus := func(what string, want int32) {
		t.Helper()
		await(t, what, getByName(sets, "agent"), func(ds *appsv1.DaemonSet) bool {
			s := ds.Status
			return s.DesiredNumberScheduled == want && s.CurrentNumberScheduled == want && s.UpdatedNumberScheduled == want &&
				s.NumberReady == want && s.NumberAvailable == want && s.NumberMisscheduled == 0
		})
	}
	for _, p := range awaitTargets(t, ns, first, second) {
		if !slices.ContainsFunc(p.Spec.Tolerations, func(tol corev1.Toleration) bool {
			return tol.Key == corev1.TaintNodeUnreachable && tol.Effect == corev1.TaintEffectNoExecute && tol.TolerationSeconds == nil
		}) {
			t.Errorf("pod %s would be evicted from an unreachable node: %v", p.Name, p.Spec.Tolerations)
		}
	}
	awaitStatus("status of 2 nodes", 2)

	third := startFakeNode(t, pool)
	awaitTargets(t, ns, first, second, third)
	awaitStatus("status of 3 nodes", 3)

	// A node that no longer matches the selector loses its Pod.
	updateObject(t, controlPlane.client.CoreV1().Nodes(), second.name, func(n *corev1.Node) { n.Labels["pool"] = "left" })
	awaitTargets(t, ns, first, third)
	awaitStatus("status after a node has left the pool", 2)

	// The Pod of a deleted node is garbage collected.
	deleteObject(t, controlPlane.client.CoreV1().Nodes(), first.name)
	// Its collector looks for such nodes each 20 s, and acts after 40 s without the node.
	awaitWithin(t, 3*waitTimeout, "collection of the pod of the deleted node", listBySelector(pods(ns), "app=web"),
		func(l *corev1.PodList) bool { return len(l.Items) == 1 })
	awaitTargets(t, ns, third)
	awaitStatus("status after the loss of a node", 1)
}

// A new template replaces the Pods node by node and creates a revision.
func TestDaemonSetRollout(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	pool := map[string]string{"pool": uniqueName("pool")}
	startFakeNode(t, pool)
	startFakeNode(t, pool)
	sets := controlPlane.client.AppsV1().DaemonSets(ns)
	markPodsReadyExcept(t, ns, "registry.invalid/broken")
	createObject(t, sets, newDaemonSet(pool))
	await(t, "2 ready pods", getByName(sets, "agent"), func(ds *appsv1.DaemonSet) bool { return ds.Status.NumberAvailable == 2 })

	setImage := func(image string) {
		updateObject(t, sets, "agent", func(ds *appsv1.DaemonSet) { ds.Spec.Template.Spec.Containers[0].Image = image })
	}
	setImage("registry.invalid/broken") // never ready: the rollout stops at maxUnavailable, 1
	await(t, "rollout to one node", getByName(sets, "agent"), func(ds *appsv1.DaemonSet) bool {
		s := ds.Status
		return s.ObservedGeneration == ds.Generation && s.UpdatedNumberScheduled == 1 && s.NumberAvailable == 1
	})
	setImage("registry.invalid/app:2")
	await(t, "rollout to both nodes", getByName(sets, "agent"), func(ds *appsv1.DaemonSet) bool {
		s := ds.Status
		return s.ObservedGeneration == ds.Generation && s.UpdatedNumberScheduled == 2 && s.NumberAvailable == 2
	})
	for _, p := range awaitPods(t, ns, "app=web", 2) {
		if image := p.Spec.Containers[0].Image; image != "registry.invalid/app:2" {
			t.Errorf("pod %s runs %s", p.Name, image)
		}
	}
	revisions := listObjects(t, controlPlane.client.AppsV1().ControllerRevisions(ns), "app=web")
	var numbers []int64
	for _, r := range revisions.Items {
		requireController(t, &r, "DaemonSet", "agent")
		numbers = append(numbers, r.Revision)
	}
	slices.Sort(numbers)
	if !slices.Equal(numbers, []int64{1, 2, 3}) {
		t.Errorf("revisions %v", numbers)
	}
}
