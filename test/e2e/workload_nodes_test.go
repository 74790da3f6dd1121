package e2e_test

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
)

// The Pods of a failed node are evicted and recreated on another node. A recovered
// node becomes ready again.
func TestWorkloadNodeFailure(t *testing.T) {
	ns := beginWorkload(t)
	pool := uniqueName("pool")
	createOwnNode(t, pool)
	d := newDeployment("registry.invalid/app:1")
	selectPool(&d.Spec.Template.Spec, pool)
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		d.Spec.Template.Spec.Tolerations = append(d.Spec.Template.Spec.Tolerations,
			corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(1))})
	}
	d.Spec.Replicas = new(int32(1))
	createObject(t, deployments(ns), d)
	victim := awaitRunning(t, ns, "app=web", 1)[0]
	spare := createOwnNode(t, pool)
	fleet := newRemoteClient(t).Nodes()
	if err := fleet.Fail(t.Context(), victim.Spec.NodeName); err != nil {
		t.Fatal(err)
	}
	awaitWithin(t, nodeFailureTimeout, "replacement on another node", listBySelector(pods(ns), "app=web"), func(l *corev1.PodList) bool {
		return slices.ContainsFunc(l.Items, func(p corev1.Pod) bool { return p.UID != victim.UID && p.Spec.NodeName == spare && isRunning(p) })
	})
	nodes := controlPlane.client.CoreV1().Nodes()
	if n := getObject(t, nodes, victim.Spec.NodeName); readyCondition(n).Status != corev1.ConditionUnknown {
		t.Errorf("the failed node: %s", toYAML(n.Status.Conditions))
	}
	if err := fleet.Recover(t.Context(), victim.Spec.NodeName); err != nil {
		t.Fatal(err)
	}
	await(t, "recovered node", getByName(nodes, victim.Spec.NodeName), func(n *corev1.Node) bool {
		return readyCondition(n).Status == corev1.ConditionTrue && !hasTaint(n, corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)
	})
	awaitGone(t, "evicted pod", getByName(pods(ns), victim.Name))
}

// A drain evicts no more Pods than the budget allows, and continues when it allows more.
func TestWorkloadDrainWithinBudget(t *testing.T) {
	ns := beginWorkload(t)
	pool := uniqueName("pool")
	drained := createOwnNode(t, pool)
	d := newDeployment("registry.invalid/app:1")
	d.Spec.Replicas = new(int32(2))
	selectPool(&d.Spec.Template.Spec, pool)
	d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(0))
	createObject(t, deployments(ns), d)
	victims := awaitRunning(t, ns, "app=web", 2)
	createObject(t, controlPlane.client.PolicyV1().PodDisruptionBudgets(ns), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: labelSelector(webLabels), MinAvailable: new(intstr.FromInt32(2))},
	})
	await(t, "budget that counts", getByName(controlPlane.client.PolicyV1().PodDisruptionBudgets(ns), "web"), func(b *policyv1.PodDisruptionBudget) bool {
		return b.Status.CurrentHealthy == 2
	})
	updateObject(t, controlPlane.client.CoreV1().Nodes(), drained, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	if err := evictPod(t, ns, victims[0].Name); !apierrors.IsTooManyRequests(err) {
		t.Errorf("beyond the budget: got %v, want 429", err)
	}
	updateObject(t, controlPlane.client.PolicyV1().PodDisruptionBudgets(ns), "web", func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = new(intstr.FromInt32(1)) })
	createOwnNode(t, pool)
	for _, p := range victims {
		await(t, "eviction of "+p.Name, func(context.Context) (error, error) { return evictPod(t, ns, p.Name), nil }, func(err error) bool { return err == nil || apierrors.IsNotFound(err) })
	}
	await(t, "pods elsewhere", listBySelector(pods(ns), "app=web"), func(l *corev1.PodList) bool {
		return len(l.Items) == 2 && !slices.ContainsFunc(l.Items, func(p corev1.Pod) bool { return !isRunning(p) || p.Spec.NodeName == drained })
	})
}

// The containers of a Pod start in order, init containers first, and the Pod terminates
// gracefully.
func TestWorkloadPodLifecycle(t *testing.T) {
	ns := beginWorkload(t)
	p := newPod("life", nil)
	p.Spec.InitContainers = []corev1.Container{
		{Name: "first", Image: "registry.invalid/init:1"},
		{Name: "sidecar", Image: "registry.invalid/sidecar:1", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
	}
	p.Spec.TerminationGracePeriodSeconds = new(int64(3600)) // which no process needs
	createObject(t, pods(ns), p)
	got := await(t, "running pod", getByName(pods(ns), "life"), func(p *corev1.Pod) bool { return isRunning(*p) })
	init := got.Status.InitContainerStatuses
	if len(init) != 2 || init[0].State.Terminated == nil || init[0].State.Terminated.ExitCode != 0 || init[1].State.Running == nil {
		t.Errorf("init containers: %s", toYAML(init))
	}
	if got.Status.ObservedGeneration != got.Generation {
		t.Errorf("observed generation %d of %d", got.Status.ObservedGeneration, got.Generation)
	}
	deleteObject(t, pods(ns), "life")
	awaitGone(t, "pod", getByName(pods(ns), "life"))
}

// The simulated kubelet serves the log in the Pod's annotation, and exec.
func TestWorkloadLogsAndExec(t *testing.T) {
	ns := beginWorkload(t)
	p := newPod("talker", nil)
	p.Annotations = map[string]string{"ctrlplane.local/log": "hello\nworld"}
	createObject(t, pods(ns), p)
	await(t, "running pod", getByName(pods(ns), "talker"), func(p *corev1.Pod) bool { return isRunning(*p) })
	log, err := pods(ns).GetLogs("talker", &corev1.PodLogOptions{TailLines: new(int64(1))}).DoRaw(t.Context())
	if err != nil || strings.TrimSpace(string(log)) != "world" {
		t.Errorf("log: %q, %v", log, err)
	}
	request := controlPlane.client.CoreV1().RESTClient().Get().Namespace(ns).Resource("pods").Name("talker").SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: []string{"hostname"}, Stdout: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(controlPlane.config, http.MethodGet, request.URL().String())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &out}); err != nil || out.String() != "talker\n" {
		t.Errorf("exec: %q, %v", &out, err)
	}
}
