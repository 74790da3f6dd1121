package e2e_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// fakeNode is a Node that is ready and renews its lease until it is stopped.
type fakeNode struct {
	name string
	stop func() // returns when the last renewal has ended
}

// renewLease renews the lease of a node until the returned function is called, which returns when
// the last renewal has ended.
func renewLease(t *testing.T, name string) (stop func()) {
	leases := controlPlane.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	ctx, cancel := context.WithCancel(t.Context())
	var renewals sync.WaitGroup
	renewals.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			err := retry.RetryOnConflict(retry.DefaultRetry, func() error { // as after an update whose answer was lost
				lease, err := leases.Get(ctx, name, metav1.GetOptions{})
				if err != nil {
					return err
				}
				lease.Spec.RenewTime = new(metav1.NowMicro())
				_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
				return err
			})
			if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
				t.Logf("renew lease of %s: %v", name, err)
			}
		}, time.Second)
	})
	stop = func() { cancel(); renewals.Wait() }
	t.Cleanup(stop)
	return stop
}

// testZone returns the zone of a test's nodes: how fast the failed nodes of a zone are handled depends on the others.
func testZone(t *testing.T) string { return t.Name()[:min(len(t.Name()), 63)] }

// startFakeNode acts as a kubelet that joins.
func startFakeNode(t *testing.T, labels map[string]string) fakeNode {
	t.Helper()
	name := uniqueName("node")
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[corev1.LabelTopologyZone] = testZone(t)
	leases := controlPlane.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	createShared(t, leases, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: new(int32(40)), RenewTime: new(metav1.NowMicro())},
	}, name)
	createShared(t, controlPlane.client.CoreV1().Nodes(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
			LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}}},
	}, name)
	return fakeNode{name, renewLease(t, name)}
}

func readyCondition(n *corev1.Node) corev1.NodeCondition {
	return find(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
}

func hasTaint(n *corev1.Node, key string, effect corev1.TaintEffect) bool {
	for _, taint := range n.Spec.Taints {
		if taint.Key == key && taint.Effect == effect {
			return true
		}
	}
	return false
}

// createBoundPod creates a Pod that runs on a node.
func createBoundPod(t *testing.T, ns, name, nodeName string, tolerations ...corev1.Toleration) *corev1.Pod {
	t.Helper()
	p := newPod(name, webLabels)
	p.Spec.NodeName = nodeName
	p.Spec.Tolerations = tolerations
	// There is no kubelet that would end the Pods after the test.
	p.Spec.TerminationGracePeriodSeconds = new(int64(0))
	p = createObject(t, pods(ns), p)
	markReady(t, *p)
	return p
}

func TestNodeLifecycle(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	nodes := controlPlane.client.CoreV1().Nodes()
	healthy, dying := startFakeNode(t, nil), startFakeNode(t, nil)
	stays := createBoundPod(t, ns, "healthy", healthy.name, corev1.Toleration{
		Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(0)),
	})
	leaves := createBoundPod(t, ns, "leaves", dying.name, stays.Spec.Tolerations[0])
	tolerates := createBoundPod(t, ns, "tolerates", dying.name, corev1.Toleration{Operator: corev1.TolerationOpExists})
	leaving := recordDeletions(t, ns)

	dying.stop()
	lost := await(t, "tainted node", getByName(nodes, dying.name), func(n *corev1.Node) bool {
		return hasTaint(n, corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute) &&
			hasTaint(n, corev1.TaintNodeUnreachable, corev1.TaintEffectNoSchedule)
	})
	if c := readyCondition(lost); c.Status != corev1.ConditionUnknown || c.Reason != "NodeStatusUnknown" {
		t.Errorf("Ready condition of the lost node: %+v", c)
	}
	awaitEvent(t, metav1.NamespaceDefault, "Node", dying.name, "NodeNotReady")
	awaitGone(t, "evicted pod", getByName(pods(ns), leaves.Name))
	last := leaving(leaves.UID)
	if !hasPodCondition(last, corev1.DisruptionTarget, "DeletionByTaintManager") {
		t.Errorf("conditions of the evicted pod: %v", last.Status.Conditions)
	}
	await(t, "pod that is no longer ready", getByName(pods(ns), tolerates.Name), func(p *corev1.Pod) bool {
		return p.DeletionTimestamp == nil && p.UID == tolerates.UID && !podutil.IsPodReady(p)
	})
	if n := getObject(t, nodes, healthy.name); readyCondition(n).Status != corev1.ConditionTrue || len(n.Spec.Taints) != 0 {
		t.Errorf("the healthy node is %+v with taints %v", readyCondition(n), n.Spec.Taints)
	}
	if p := getObject(t, pods(ns), stays.Name); !podutil.IsPodReady(p) {
		t.Errorf("conditions of the healthy node's pod: %v", p.Status.Conditions)
	}

	// The node recovers: the kubelet renews its lease and writes its status, and the taints are removed.
	renewLease(t, dying.name)
	updateObjectStatus(t, nodes, dying.name, func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
			LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}}
	})
	await(t, "node without taints", getByName(nodes, dying.name), func(n *corev1.Node) bool { return len(n.Spec.Taints) == 0 })
}

func hasPodCondition(p *corev1.Pod, kind corev1.PodConditionType, reason string) bool {
	_, c := podutil.GetPodCondition(&p.Status, kind)
	return c != nil && c.Reason == reason && c.Status == corev1.ConditionTrue
}

// recordDeletions returns a function that returns the last state of a deleted Pod.
func recordDeletions(t *testing.T, ns string) func(types.UID) *corev1.Pod {
	t.Helper()
	var mu sync.Mutex
	last := map[types.UID]*corev1.Pod{}
	watchPods(t, ns, func(_ context.Context, what watch.EventType, p *corev1.Pod) {
		if what != watch.Deleted {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		last[p.UID] = p
	})
	return func(uid types.UID) *corev1.Pod {
		t.Helper()
		return await(t, "last state of the pod", func(context.Context) (*corev1.Pod, error) {
			mu.Lock()
			defer mu.Unlock()
			return last[uid], nil
		}, func(p *corev1.Pod) bool { return p != nil })
	}
}

// A node that reports a problem is tainted, so that no new Pods are scheduled to it.
func TestNodeNotReady(t *testing.T) {
	t.Parallel()
	nodes := controlPlane.client.CoreV1().Nodes()
	startFakeNode(t, nil)
	n := startFakeNode(t, nil)
	updateObjectStatus(t, nodes, n.name, func(n *corev1.Node) {
		ready := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
		n.Status.Conditions[ready].Status = corev1.ConditionFalse
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue})
	})
	await(t, "taints of a node that is not ready", getByName(nodes, n.name), func(n *corev1.Node) bool {
		return hasTaint(n, corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute) &&
			hasTaint(n, corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule) &&
			hasTaint(n, corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule)
	})
	updateObject(t, nodes, n.name, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	await(t, "taint of a cordoned node", getByName(nodes, n.name), func(n *corev1.Node) bool {
		return hasTaint(n, corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
	})
}
