package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The Pods of a node that fails are evicted and made anew elsewhere; the node
// that recovers is ready again.
func TestWorkloadNodeFailure(t *testing.T) {
	ns := workload(t)
	pool := unique("pool")
	ownNode(t, pool)
	d := newDeployment("registry.invalid/app:1")
	onPool(&d.Spec.Template.Spec, pool)
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		d.Spec.Template.Spec.Tolerations = append(d.Spec.Template.Spec.Tolerations,
			corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(1))})
	}
	d.Spec.Replicas = new(int32(1))
	create(t, deployments(ns), d)
	victim := awaitRunning(t, ns, "app=web", 1)[0]
	spare := ownNode(t, pool)
	fleet := looker(t)
	if err := fleet.Fail(t.Context(), victim.Spec.NodeName); err != nil {
		t.Fatal(err)
	}
	await(t, "replacement on another node", all(pods(ns), "app=web"), func(l *corev1.PodList) bool {
		return slices.ContainsFunc(l.Items, func(p corev1.Pod) bool { return p.UID != victim.UID && p.Spec.NodeName == spare && running(p) })
	})
	nodes := plane.client.CoreV1().Nodes()
	if n := get(t, nodes, victim.Spec.NodeName); readyCondition(n).Status != corev1.ConditionUnknown {
		t.Errorf("the failed node: %s", show(n.Status.Conditions))
	}
	if err := fleet.Recover(t.Context(), victim.Spec.NodeName); err != nil {
		t.Fatal(err)
	}
	await(t, "recovered node", one(nodes, victim.Spec.NodeName), func(n *corev1.Node) bool {
		return readyCondition(n).Status == corev1.ConditionTrue && !hasTaint(n, corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)
	})
	awaitGone(t, "evicted pod", one(pods(ns), victim.Name))
}

// A drain evicts no more than the budget allows, and goes on when it allows more.
func TestWorkloadDrainWithinBudget(t *testing.T) {
	ns := workload(t)
	pool := unique("pool")
	drained := ownNode(t, pool)
	d := newDeployment("registry.invalid/app:1")
	d.Spec.Replicas = new(int32(2))
	onPool(&d.Spec.Template.Spec, pool)
	d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(0))
	create(t, deployments(ns), d)
	victims := awaitRunning(t, ns, "app=web", 2)
	create(t, plane.client.PolicyV1().PodDisruptionBudgets(ns), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selecting(webLabels), MinAvailable: new(intstr.FromInt32(2))},
	})
	await(t, "budget that counts", one(plane.client.PolicyV1().PodDisruptionBudgets(ns), "web"), func(b *policyv1.PodDisruptionBudget) bool {
		return b.Status.CurrentHealthy == 2
	})
	modify(t, plane.client.CoreV1().Nodes(), drained, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	if err := evict(t, ns, victims[0].Name); !apierrors.IsTooManyRequests(err) {
		t.Errorf("beyond the budget: got %v, want 429", err)
	}
	modify(t, plane.client.PolicyV1().PodDisruptionBudgets(ns), "web", func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = new(intstr.FromInt32(1)) })
	ownNode(t, pool)
	for _, p := range victims {
		await(t, "eviction of "+p.Name, func(context.Context) (error, error) { return evict(t, ns, p.Name), nil }, func(err error) bool { return err == nil || apierrors.IsNotFound(err) })
	}
	await(t, "pods elsewhere", all(pods(ns), "app=web"), func(l *corev1.PodList) bool {
		return len(l.Items) == 2 && !slices.ContainsFunc(l.Items, func(p corev1.Pod) bool { return !running(p) || p.Spec.NodeName == drained })
	})
}

// A Pod goes in order: init containers, then the others; it leaves gracefully.
func TestWorkloadPodLife(t *testing.T) {
	ns := workload(t)
	p := newPod("life", nil)
	p.Spec.InitContainers = []corev1.Container{
		{Name: "first", Image: "registry.invalid/init:1"},
		{Name: "sidecar", Image: "registry.invalid/sidecar:1", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
	}
	p.Spec.TerminationGracePeriodSeconds = new(int64(30))
	create(t, pods(ns), p)
	got := await(t, "running pod", one(pods(ns), "life"), func(p *corev1.Pod) bool { return running(*p) })
	init := got.Status.InitContainerStatuses
	if len(init) != 2 || init[0].State.Terminated == nil || init[0].State.Terminated.ExitCode != 0 || init[1].State.Running == nil {
		t.Errorf("init containers: %s", show(init))
	}
	if got.Status.ObservedGeneration != got.Generation {
		t.Errorf("observed generation %d of %d", got.Status.ObservedGeneration, got.Generation)
	}
	begin := time.Now()
	remove(t, pods(ns), "life")
	awaitGone(t, "pod", one(pods(ns), "life"))
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %v to end: nothing runs there that needs its grace period", took)
	}
}

// Its kubelet answers, too: with what its log is said to be, and that there is
// nothing to execute in.
func TestWorkloadKubelet(t *testing.T) {
	ns := workload(t)
	p := newPod("talker", nil)
	p.Annotations = map[string]string{"ctrlplane/log": "hello\nworld"}
	create(t, pods(ns), p)
	await(t, "running pod", one(pods(ns), "talker"), func(p *corev1.Pod) bool { return running(*p) })
	log, err := pods(ns).GetLogs("talker", &corev1.PodLogOptions{TailLines: new(int64(1))}).DoRaw(t.Context())
	if err != nil || strings.TrimSpace(string(log)) != "world" {
		t.Errorf("log: %q, %v", log, err)
	}
	_, err = plane.client.CoreV1().RESTClient().Post().Namespace(ns).Resource("pods").Name("talker").SubResource("exec").
		Param("command", "ls").Param("stdout", "true").DoRaw(t.Context())
	if err == nil {
		t.Error("exec in a simulated pod was not refused")
	}
}
