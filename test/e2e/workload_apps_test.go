package e2e_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWorkloadRollout(t *testing.T) {
	ns := beginWorkload(t)
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	awaitRollout(t, ns, 3)
	addresses := map[string]bool{}
	for _, p := range awaitRunning(t, ns, "app=web", 3) {
		addresses[p.Status.PodIP] = true
		if p.Spec.NodeName == "" || p.Status.HostIP == "" || p.Status.StartTime == nil || !podRange.Contains(netip.MustParseAddr(p.Status.PodIP)) {
			t.Errorf("pod %s: %s", p.Name, toYAML(p.Status))
		}
		if s := p.Status.ContainerStatuses; len(s) != 1 || s[0].State.Running == nil || !s[0].Ready || s[0].Image != "registry.invalid/app:1" {
			t.Errorf("containers of %s: %s", p.Name, toYAML(s))
		}
	}
	if len(addresses) != 3 {
		t.Errorf("addresses: %v", addresses)
	}
}

func TestWorkloadJobs(t *testing.T) {
	ns := beginWorkload(t)
	spec := batchv1.JobSpec{Completions: new(int32(3)), Parallelism: new(int32(2)), CompletionMode: new(batchv1.IndexedCompletion), Template: podTemplate(nil)}
	spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	createObject(t, jobs(ns), newJob("work", spec))
	j := await(t, "completion", getByName(jobs(ns), "work"), func(j *batchv1.Job) bool { return jobCondition(j, batchv1.JobComplete).Status == corev1.ConditionTrue })
	if j.Status.Succeeded != 3 || j.Status.CompletedIndexes != "0-2" || j.Status.CompletionTime == nil {
		t.Errorf("status: %s", toYAML(j.Status))
	}
	for _, p := range listObjects(t, pods(ns), "").Items {
		if s := p.Status.ContainerStatuses; p.Status.Phase != corev1.PodSucceeded || s[0].State.Terminated == nil || s[0].State.Terminated.ExitCode != 0 {
			t.Errorf("pod %s: %s", p.Name, toYAML(p.Status))
		}
	}
}

func TestWorkloadStatefulSet(t *testing.T) {
	ns := beginWorkload(t)
	set := newStatefulSet()
	set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = nil // the default class
	createObject(t, statefulSets(ns), set)
	want := *set.Spec.Replicas
	await(t, "ready replicas", getByName(statefulSets(ns), set.Name), func(s *appsv1.StatefulSet) bool { return s.Status.ReadyReplicas == want })
	var started []metav1.Time
	for _, p := range awaitPods(t, ns, "", int(want)) {
		started = append(started, *p.Status.StartTime)
	}
	for _, c := range listObjects(t, controlPlane.client.CoreV1().PersistentVolumeClaims(ns), "").Items {
		if c.Status.Phase != corev1.ClaimBound || c.Status.Capacity.Storage().String() != "1Gi" {
			t.Errorf("claim %s: %s", c.Name, toYAML(c.Status))
		}
	}
	if !slices.IsSortedFunc(started, func(a, b metav1.Time) int { return a.Compare(b.Time) }) {
		t.Errorf("not started in order: %v", started)
	}
}

func TestWorkloadDaemonSet(t *testing.T) {
	ns := beginWorkload(t)
	pool := uniqueName("pool")
	nodes := []string{createOwnNode(t, pool), createOwnNode(t, pool), createOwnNode(t, pool), createOwnNode(t, pool), createOwnNode(t, pool)}
	tmpl := podTemplate(webLabels)
	selectPool(&tmpl.Spec, pool)
	createObject(t, controlPlane.client.AppsV1().DaemonSets(ns), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: labelSelector(webLabels), Template: tmpl},
	})
	check := func() {
		t.Helper()
		slices.Sort(nodes)
		if got := nodeNames(awaitRunning(t, ns, "app=web", len(nodes))); !slices.Equal(got, nodes) {
			t.Errorf("it runs on %v, want %v", got, nodes)
		}
	}
	check()
	nodes = append(nodes, createOwnNode(t, pool))
	check()
}

func TestWorkloadLoadBalancer(t *testing.T) {
	ns := beginWorkload(t)
	services := controlPlane.client.CoreV1().Services(ns)
	createObject(t, services, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "lb"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: webLabels, Ports: []corev1.ServicePort{{Port: 80}}},
	})
	s := await(t, "address", getByName(services, "lb"), func(s *corev1.Service) bool { return len(s.Status.LoadBalancer.Ingress) > 0 })
	if ip := s.Status.LoadBalancer.Ingress[0].IP; !strings.HasPrefix(ip, "203.0.113.") {
		t.Errorf("address %s", ip)
	}
	updateObject(t, services, "lb", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
	await(t, "end of the address", getByName(services, "lb"), func(s *corev1.Service) bool { return len(s.Status.LoadBalancer.Ingress) == 0 })
	deleteObject(t, services, "lb")
	awaitGone(t, "service", getByName(services, "lb"))
}
