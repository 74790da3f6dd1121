package e2e_test

import (
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ctrlplane/ctrlplane"
)

// workloadsEnv marks the process whose control plane has a scheduler and
// simulated nodes; a process holds one control plane, and the other tests play
// both themselves.
const workloadsEnv = "CTRLPLANE_E2E_WORKLOADS"

// withWorkloads makes a Server run Pods.
func withWorkloads(s *ctrlplane.Server) {
	s.NoScheduler = false
	s.Nodes, s.NodeZones, s.NodeCPU = 3, 3, "8"
	// Kubelets renew their leases each 10 s.
	s.ControllerManagerArgs = append(s.ControllerManagerArgs, "node-monitor-grace-period=25s")
}

// TestWorkloads runs the tests below in a process of its own.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	if os.Getenv(workloadsEnv) != "" {
		return
	}
	const tests = "^TestWorkload[A-Z]"
	listed, err := exec.CommandContext(t.Context(), os.Args[0], "-test.list="+tests).Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+tests, "-test.v")
	cmd.Env = append(os.Environ(), workloadsEnv+"=1")
	out, err := cmd.CombinedOutput()
	ran, want := strings.Count(string(out), "\n--- PASS: TestWorkload"), strings.Count(string(listed), "TestWorkload")
	if err != nil || ran != want || ran == 0 {
		t.Fatalf("%v; %d of %d passed:\n%s", err, ran, want, out)
	}
	t.Logf("%d passed", ran)
}

// workload is how each of them begins.
func workload(t *testing.T) (ns string) {
	t.Helper()
	if os.Getenv(workloadsEnv) == "" {
		t.Skip("TestWorkloads runs it, where there are nodes")
	}
	t.Parallel()
	return namespace(t)
}

// ownNode makes a simulated node that only Pods of this test run on: those that
// select pool. No other Pod may land on it, not even before it is tainted, for
// tests let their nodes fail.
func ownNode(t *testing.T, pool string) string {
	t.Helper()
	name := unique("own")
	createShared(t, plane.client.CoreV1().Nodes(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels:      map[string]string{"pool": pool, corev1.LabelHostname: name},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "pool", Value: pool, Effect: corev1.TaintEffectNoSchedule}}},
	}, name)
	return name
}

// onPool makes Pods run on the nodes of a pool only.
func onPool(spec *corev1.PodSpec, pool string) {
	spec.NodeSelector = map[string]string{"pool": pool}
	spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: "pool", Value: pool, Effect: corev1.TaintEffectNoSchedule})
}

func requests(cpu string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
}

func running(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning && ready(p) }

func ready(p corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func awaitRunning(t *testing.T, ns, selector string, want int) []corev1.Pod {
	t.Helper()
	l := await(t, "running pods", all(pods(ns), selector), func(l *corev1.PodList) bool {
		return len(l.Items) == want && !slices.ContainsFunc(l.Items, func(p corev1.Pod) bool { return !running(p) || p.DeletionTimestamp != nil })
	})
	return l.Items
}

func TestWorkloadRollout(t *testing.T) {
	ns := workload(t)
	create(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	awaitRollout(t, ns, 3)
	addresses := map[string]bool{}
	for _, p := range awaitRunning(t, ns, "app=web", 3) {
		addresses[p.Status.PodIP] = true
		if p.Spec.NodeName == "" || p.Status.HostIP == "" || p.Status.StartTime == nil || !podRange.Contains(netip.MustParseAddr(p.Status.PodIP)) {
			t.Errorf("pod %s: %s", p.Name, show(p.Status))
		}
		if s := p.Status.ContainerStatuses; len(s) != 1 || s[0].State.Running == nil || !s[0].Ready || s[0].Image != "registry.invalid/app:1" {
			t.Errorf("containers of %s: %s", p.Name, show(s))
		}
	}
	if len(addresses) != 3 {
		t.Errorf("addresses: %v", addresses)
	}
	modify(t, deployments(ns), "web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "registry.invalid/app:2" })
	awaitRollout(t, ns, 3)
	awaitReplicaSet(t, ns, "registry.invalid/app:2", 3)
	old := awaitReplicaSet(t, ns, "registry.invalid/app:1", 0)

	// Back: the ReplicaSet of the first revision is used again.
	modify(t, deployments(ns), "web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "registry.invalid/app:1" })
	awaitRollout(t, ns, 3)
	again := awaitReplicaSet(t, ns, "registry.invalid/app:1", 3)
	if again.UID != old.UID || again.Annotations["deployment.kubernetes.io/revision"] != "3" {
		t.Errorf("after the way back: %s", show(again.ObjectMeta))
	}
	awaitReplicaSet(t, ns, "registry.invalid/app:2", 0)
}

func TestWorkloadJobs(t *testing.T) {
	ns := workload(t)
	spec := batchv1.JobSpec{Completions: new(int32(3)), Parallelism: new(int32(2)), CompletionMode: new(batchv1.IndexedCompletion), Template: template(nil)}
	spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	create(t, jobs(ns), newJob("work", spec))
	j := await(t, "completion", one(jobs(ns), "work"), func(j *batchv1.Job) bool { return jobCondition(j, batchv1.JobComplete).Status == corev1.ConditionTrue })
	if j.Status.Succeeded != 3 || j.Status.CompletedIndexes != "0-2" || j.Status.CompletionTime == nil {
		t.Errorf("status: %s", show(j.Status))
	}
	for _, p := range list(t, pods(ns), "").Items {
		if s := p.Status.ContainerStatuses; p.Status.Phase != corev1.PodSucceeded || s[0].State.Terminated == nil || s[0].State.Terminated.ExitCode != 0 {
			t.Errorf("pod %s: %s", p.Name, show(p.Status))
		}
	}
}

func TestWorkloadStatefulSet(t *testing.T) {
	ns := workload(t)
	set := newStatefulSet()
	set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = nil // the default one
	create(t, statefulSets(ns), set)
	want := *set.Spec.Replicas
	await(t, "ready replicas", one(statefulSets(ns), set.Name), func(s *appsv1.StatefulSet) bool { return s.Status.ReadyReplicas == want })
	var started []metav1.Time
	for _, p := range awaitPods(t, ns, "", int(want)) {
		started = append(started, *p.Status.StartTime)
	}
	for _, c := range list(t, plane.client.CoreV1().PersistentVolumeClaims(ns), "").Items {
		if c.Status.Phase != corev1.ClaimBound || c.Status.Capacity.Storage().String() != "1Gi" {
			t.Errorf("claim %s: %s", c.Name, show(c.Status))
		}
	}
	if !slices.IsSortedFunc(started, func(a, b metav1.Time) int { return a.Compare(b.Time) }) {
		t.Errorf("not in order: %v", started)
	}
}

// The metrics API says what Pods are said to use.
func TestWorkloadMetrics(t *testing.T) {
	ns := workload(t)
	p := newPod("busy", nil)
	p.Annotations = map[string]string{"kwok.x-k8s.io/usage-cpu": "150m"}
	create(t, pods(ns), p)
	await(t, "running pod", one(pods(ns), "busy"), func(p *corev1.Pod) bool { return running(*p) })
	type usage struct{ Usage map[string]string }
	read := func(path string, into any) {
		if a := fetch(t, plane.config, "/apis/metrics.k8s.io/v1beta1/"+path); a.Code != 200 || json.Unmarshal([]byte(a.Body), into) != nil {
			t.Errorf("%s: %d %s", path, a.Code, a.Body)
		}
	}
	var pod struct{ Containers []usage }
	if read("namespaces/"+ns+"/pods/busy", &pod); len(pod.Containers) != 1 || pod.Containers[0].Usage["cpu"] != "150m" {
		t.Errorf("of the pod: %+v", pod)
	}
	var nodes struct{ Items []usage }
	if read("nodes", &nodes); len(nodes.Items) < 3 || nodes.Items[0].Usage["memory"] == "" {
		t.Errorf("of the nodes: %+v", nodes)
	}
}

func TestWorkloadAutoscaling(t *testing.T) {
	ns := workload(t)
	d := newDeployment("registry.invalid/app:1")
	d.Spec.Replicas = new(int32(1))
	d.Spec.Template.Spec.Containers[0].Resources = requests("100m")
	d.Spec.Template.Annotations = map[string]string{"kwok.x-k8s.io/usage-cpu": "150m"}
	create(t, deployments(ns), d)
	create(t, plane.client.AutoscalingV2().HorizontalPodAutoscalers(ns), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MaxReplicas:    3,
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
				ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(0))},
			},
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(50))},
			}}},
		},
	})
	for _, p := range awaitRunning(t, ns, "app=web", 3) {
		modify(t, pods(ns), p.Name, func(p *corev1.Pod) { p.Annotations["kwok.x-k8s.io/usage-cpu"] = "5m" })
	}
	awaitRunning(t, ns, "app=web", 1)
}

// A CronJob that is due runs its Job to completion and says so.
func TestWorkloadCronJob(t *testing.T) {
	ns := workload(t)
	startDue(t, ns, batchv1.CronJobSpec{})
	c := await(t, "success", one(cronJobs(ns), "tick"), func(c *batchv1.CronJob) bool {
		return c.Status.LastSuccessfulTime != nil && len(c.Status.Active) == 0
	})
	if c.Status.LastScheduleTime == nil || c.Status.LastSuccessfulTime.Before(c.Status.LastScheduleTime) {
		t.Errorf("status: %s", show(c.Status))
	}
	awaitEvent(t, ns, "CronJob", "tick", "SawCompletedJob")
}

func TestWorkloadDaemonSet(t *testing.T) {
	ns := workload(t)
	pool := unique("pool")
	nodes := []string{ownNode(t, pool), ownNode(t, pool), ownNode(t, pool), ownNode(t, pool), ownNode(t, pool)}
	tmpl := template(webLabels)
	onPool(&tmpl.Spec, pool)
	create(t, plane.client.AppsV1().DaemonSets(ns), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: selecting(webLabels), Template: tmpl},
	})
	check := func() {
		t.Helper()
		slices.Sort(nodes)
		if got := nodesOf(awaitRunning(t, ns, "app=web", len(nodes))); !slices.Equal(got, nodes) {
			t.Errorf("it runs on %v, want %v", got, nodes)
		}
	}
	check()
	nodes = append(nodes, ownNode(t, pool))
	check()
}

func TestWorkloadLoadBalancer(t *testing.T) {
	ns := workload(t)
	services := plane.client.CoreV1().Services(ns)
	create(t, services, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "lb"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: webLabels, Ports: []corev1.ServicePort{{Port: 80}}},
	})
	s := await(t, "address", one(services, "lb"), func(s *corev1.Service) bool { return len(s.Status.LoadBalancer.Ingress) > 0 })
	if ip := s.Status.LoadBalancer.Ingress[0].IP; !strings.HasPrefix(ip, "203.0.113.") {
		t.Errorf("address %s", ip)
	}
	modify(t, services, "lb", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
	await(t, "end of the address", one(services, "lb"), func(s *corev1.Service) bool { return len(s.Status.LoadBalancer.Ingress) == 0 })
	remove(t, services, "lb")
	awaitGone(t, "service", one(services, "lb"))
}

// A Pod that fits nowhere says why, and runs once a node comes that it fits.
func TestWorkloadUnschedulable(t *testing.T) {
	ns := workload(t)
	pool := unique("pool")
	p := newPod("choosy", nil)
	onPool(&p.Spec, pool)
	create(t, pods(ns), p)
	got := await(t, "reason", one(pods(ns), "choosy"), func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
		})
	})
	if m := got.Status.Conditions[0].Message; !strings.Contains(m, "nodes are available") || !strings.Contains(m, "didn't match Pod's node affinity/selector") {
		t.Errorf("reason: %s", m)
	}
	s, err := plane.server.Observer().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	waiting := int64(0)
	for _, q := range s.Queues {
		if q.Controller == "kube-scheduler" && (q.Name == "unschedulable" || q.Name == "backoff" || q.Name == "active") {
			waiting += q.Depth + q.InFlight
		}
	}
	if waiting == 0 {
		t.Error("no queue of the scheduler holds it")
	}
	node := ownNode(t, pool)
	if got := await(t, "running pod", one(pods(ns), "choosy"), func(p *corev1.Pod) bool { return running(*p) }); got.Spec.NodeName != node {
		t.Errorf("it runs on %s", got.Spec.NodeName)
	}
}

func TestWorkloadPreemption(t *testing.T) {
	ns := workload(t)
	pool := unique("pool")
	ownNode(t, pool)
	urgent := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: unique("urgent")}, Value: 1000}
	createShared(t, plane.client.SchedulingV1().PriorityClasses(), urgent, urgent.Name)
	low := newPod("low", nil)
	onPool(&low.Spec, pool)
	low.Spec.Containers[0].Resources = requests("6")
	low.Spec.TerminationGracePeriodSeconds = new(int64(0))
	create(t, pods(ns), low)
	await(t, "running pod", one(pods(ns), "low"), func(p *corev1.Pod) bool { return running(*p) })
	high := newPod("high", nil)
	onPool(&high.Spec, pool)
	high.Spec.Containers[0].Resources = requests("6")
	high.Spec.PriorityClassName = urgent.Name
	create(t, pods(ns), high)
	await(t, "running pod of high priority", one(pods(ns), "high"), func(p *corev1.Pod) bool { return running(*p) })
	awaitGone(t, "pod of low priority", one(pods(ns), "low"))
}

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
