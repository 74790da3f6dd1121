package e2e_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/observe"
)

// workloadsEnv marks the process whose control plane has a scheduler and simulated
// nodes. A process holds one control plane, and the other tests act as both.
const workloadsEnv = "CTRLPLANE_E2E_WORKLOADS"

// enableWorkloads configures a Server that runs Pods.
func enableWorkloads(s *ctrlplane.Server) {
	s.Scheduler.Disabled = false
	s.Nodes = ctrlplane.NodesConfig{Count: 3, Zones: 3, CPU: "8"}
	// Kubelets renew their leases after 3/5 of it: a renewal may be late by the rest.
	grace := time.Minute
	if os.Getenv(settledEnv) != "" || os.Getenv(snapshotEnv) != "" { // no node fails in these processes
		grace = 10 * time.Minute
	}
	s.Controllers.Args = append(s.Controllers.Args, "node-monitor-grace-period="+grace.String())
}

// nodeFailureTimeout bounds the wait for what follows the grace period of a failed node.
const nodeFailureTimeout = 2 * waitTimeout

// TestWorkloads runs the tests below in a child process.
func TestWorkloads(t *testing.T) {
	runInChild(t, "TestWorkload", 23, workloadsEnv)
}

// beginWorkload starts each of them.
func beginWorkload(t *testing.T) (ns string) {
	t.Helper()
	if os.Getenv(workloadsEnv) == "" {
		t.Skip("run by TestWorkloads in a process of its own")
	}
	t.Parallel()
	return createNamespace(t)
}

// createOwnNode creates a simulated node for Pods that select pool. It is tainted from
// the beginning, so that no other Pod runs on it: tests let their nodes fail.
func createOwnNode(t *testing.T, pool string) string {
	t.Helper()
	name := uniqueName("own")
	createShared(t, controlPlane.client.CoreV1().Nodes(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels:      map[string]string{"pool": pool, corev1.LabelHostname: name, corev1.LabelTopologyZone: testZone(t)},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "pool", Value: pool, Effect: corev1.TaintEffectNoSchedule}}},
	}, name)
	return name
}

// selectPool makes a Pod run on the nodes of a pool only.
func selectPool(spec *corev1.PodSpec, pool string) {
	spec.NodeSelector = map[string]string{"pool": pool}
	spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: "pool", Value: pool, Effect: corev1.TaintEffectNoSchedule})
}

func cpuRequests(cpu string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
}

func isRunning(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning && isPodReady(p) }

func isPodReady(p corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func awaitRunning(t *testing.T, ns, selector string, want int) []corev1.Pod {
	t.Helper()
	l := await(t, "running pods", listBySelector(pods(ns), selector), func(l *corev1.PodList) bool {
		return len(l.Items) == want && !slices.ContainsFunc(l.Items, func(p corev1.Pod) bool { return !isRunning(p) || p.DeletionTimestamp != nil })
	})
	return l.Items
}

// A Pod that fits on no node reports why, and runs once a node is added.
func TestWorkloadUnschedulable(t *testing.T) {
	ns := beginWorkload(t)
	pool := uniqueName("pool")
	p := newPod("choosy", nil)
	selectPool(&p.Spec, pool)
	createObject(t, pods(ns), p)
	got := await(t, "reason", getByName(pods(ns), "choosy"), func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			// Before that, the reason may be that no node is ready.
			return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable && strings.Contains(c.Message, "didn't match Pod's node affinity/selector")
		})
	})
	if m := got.Status.Conditions[0].Message; !strings.Contains(m, "nodes are available") {
		t.Errorf("reason: %s", m)
	}
	// On its way from one queue to the next it is in none.
	await(t, "the Pod in a queue of the scheduler", controlPlane.server.Observer().Snapshot, func(s observe.Snapshot) bool {
		return slices.ContainsFunc(s.Queues, func(q observe.Queue) bool {
			return q.Controller == "kube-scheduler" && (q.Name == "unschedulable" || q.Name == "backoff" || q.Name == "active") && q.Depth+q.InFlight > 0
		})
	})
	node := createOwnNode(t, pool)
	if got := await(t, "running pod", getByName(pods(ns), "choosy"), func(p *corev1.Pod) bool { return isRunning(*p) }); got.Spec.NodeName != node {
		t.Errorf("it runs on %s", got.Spec.NodeName)
	}
}

func TestWorkloadPreemption(t *testing.T) {
	ns := beginWorkload(t)
	pool := uniqueName("pool")
	createOwnNode(t, pool)
	urgent := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: uniqueName("urgent")}, Value: 1000}
	createShared(t, controlPlane.client.SchedulingV1().PriorityClasses(), urgent, urgent.Name)
	low := newPod("low", nil)
	selectPool(&low.Spec, pool)
	low.Spec.Containers[0].Resources = cpuRequests("6")
	low.Spec.TerminationGracePeriodSeconds = new(int64(0))
	createObject(t, pods(ns), low)
	await(t, "running pod", getByName(pods(ns), "low"), func(p *corev1.Pod) bool { return isRunning(*p) })
	high := newPod("high", nil)
	selectPool(&high.Spec, pool)
	high.Spec.Containers[0].Resources = cpuRequests("6")
	high.Spec.PriorityClassName = urgent.Name
	createObject(t, pods(ns), high)
	await(t, "running pod of high priority", getByName(pods(ns), "high"), func(p *corev1.Pod) bool { return isRunning(*p) })
	awaitGone(t, "pod of low priority", getByName(pods(ns), "low"))
}
