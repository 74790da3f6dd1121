package nodes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
	"github.com/ctrlplane/ctrlplane/sim/container"
)

const waitTimeout = 20 * time.Second

func startTestFleet(t *testing.T, client kubernetes.Interface, cfg Config) *Fleet {
	t.Helper()
	cfg.Informers = runInformers(t, client)
	f, err := startWithClients(t.Context(), cfg, client, stageClients{}, newPlayed(nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// runInformers returns informers that run until the test ends.
func runInformers(t *testing.T, client kubernetes.Interface) func() (pods, nodes cache.SharedIndexInformer) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactory(client, 0)
	t.Cleanup(func() { cancel(); factory.Shutdown() })
	pods, nodes := factory.Core().V1().Pods().Informer(), factory.Core().V1().Nodes().Informer()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return func() (cache.SharedIndexInformer, cache.SharedIndexInformer) { return pods, nodes }
}

// waitForPod waits until a Pod meets a condition.
func waitForPod(t *testing.T, client kubernetes.Interface, pod *corev1.Pod, until func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	w, err := client.CoreV1().Pods(pod.Namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	now, err := client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for !until(now) {
		select {
		case e := <-w.ResultChan():
			if p, ok := e.Object.(*corev1.Pod); ok && p.Name == pod.Name {
				now = p
			}
		case <-ctx.Done():
			t.Fatalf("pod %s is still %s", pod.Name, describePod(now))
		}
	}
	return now
}

// awaitWatchEvent returns the first event that is right. The watches of the fake do not end with ctx.
func awaitWatchEvent(ctx context.Context, t *testing.T, w watch.Interface, isRight func(watch.Event) bool) watch.Event {
	t.Helper()
	for {
		select {
		case e := <-w.ResultChan():
			if isRight(e) {
				return e
			}
		case <-ctx.Done():
			t.Fatal("the watch has not delivered what should happen")
		}
	}
}

func listNodeNames(t *testing.T, f *Fleet) []string {
	t.Helper()
	list, err := f.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

func TestFleetCreatesMissingNodes(t *testing.T) {
	manual := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "manual", Annotations: map[string]string{annotations.KwokNode: annotations.KwokFake}}}
	kubelet := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}}
	client := fake.NewClientset(manual, kubelet)
	f := startTestFleet(t, client, Config{Count: 2, Zones: 2, Labels: []string{"a=b"}, Taints: []string{"c=d:NoSchedule"}})
	if diff := cmp.Diff([]string{"manual", "node-1", "node-3"}, listNodeNames(t, f)); diff != "" {
		t.Error(diff)
	}
	node, err := client.CoreV1().Nodes().Get(t.Context(), "node-3", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node.Labels["a"] != "b" || node.Labels[corev1.LabelTopologyZone] != "zone-a" || len(node.Spec.Taints) != 1 {
		t.Errorf("node-3 has labels %v and taints %v", node.Labels, node.Spec.Taints)
	}
	if _, err := f.Add(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again := startTestFleet(t, client, Config{Count: 4})
	if diff := cmp.Diff([]string{"manual", "node-1", "node-3", "node-4", "node-5"}, listNodeNames(t, again)); diff != "" {
		t.Errorf("after a restart: %s", diff)
	}
}

func TestFleetAddsAllOrNone(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("create", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		node := a.(clienttesting.CreateAction).GetObject().(*corev1.Node)
		return node.Name == "node-4", nil, errors.New("refused")
	})
	f := startTestFleet(t, client, Config{Count: 1})
	if added, err := f.Add(t.Context(), 4); err == nil {
		t.Errorf("added %v", added)
	}
	if diff := cmp.Diff([]string{"node-1"}, listNodeNames(t, f)); diff != "" {
		t.Error(diff)
	}
}

// TestFleetAddEndsWithTheFleet closes a fleet while an Add waits for the first list of nodes.
func TestFleetAddEndsWithTheFleet(t *testing.T) {
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0) // not started
	pods, nodes := factory.Core().V1().Pods().Informer(), factory.Core().V1().Nodes().Informer()
	cfg := Config{Informers: func() (cache.SharedIndexInformer, cache.SharedIndexInformer) { return pods, nodes }}
	f, err := startWithClients(t.Context(), cfg, client, stageClients{}, newPlayed(nil))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	added := make(chan error, 1)
	go func() {
		_, err := f.Add(ctx, 1)
		added <- err
	}()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := <-added; !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want %v", err, ErrClosed)
	}
}

func TestFleetRunsPods(t *testing.T) {
	client := fake.NewClientset()
	f := startTestFleet(t, client, Config{Count: 1})
	pod := testPod(nil)
	if _, err := client.CoreV1().Pods("n").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	running := waitForPod(t, client, pod, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	if got := describePod(running); got != "Running, ready, a: runs" {
		t.Errorf("the pod is %s", got)
	}
	if running.Status.PodIP != "100.64.0.1" || running.Status.HostIP != "172.16.0.1" {
		t.Errorf("addresses %s and %s", running.Status.PodIP, running.Status.HostIP)
	}
	if list, err := f.List(t.Context()); err != nil || list[0].Pods != 1 {
		t.Errorf("List = %+v, %v; want a pod", list, err)
	}
}

// A Pod that the scheduler did not place is subject to admission, with the current
// Node from the server.
func TestFleetRejectsPods(t *testing.T) {
	client := fake.NewClientset()
	startTestFleet(t, client, Config{Count: 1, CPU: "2"})
	for name, c := range map[string]struct{ cpu, want string }{"big": {"3", "OutOfcpu"}, "fits": {"1", ""}} {
		pod := testPod(func(p *corev1.Pod) {
			p.Name, p.UID = name, types.UID(name)
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(c.cpu)}
		})
		if _, err := client.CoreV1().Pods("n").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		got := waitForPod(t, client, pod, func(p *corev1.Pod) bool { return p.Status.Phase != corev1.PodPending })
		if got.Status.Reason != c.want {
			t.Errorf("pod %s: %s", name, describePod(got))
		}
	}
	rejection := awaitEvent(t, client, func(e *corev1.Event) bool { return e.Reason == "OutOfcpu" && e.InvolvedObject.Name == "big" })
	if rejection.Source != (corev1.EventSource{Component: "kubelet", Host: "node-1"}) || rejection.ReportingController != "kubelet" || rejection.ReportingInstance != "node-1" {
		t.Errorf("source: %+v", rejection)
	}
}

// TestSourcesOfEvents has an event of a container's runtime, and one that no kubelet would record.
func TestSourcesOfEvents(t *testing.T) {
	client := fake.NewClientset()
	startTestFleet(t, client, Config{Count: 1, Commands: &container.Runtime{}})
	pod := testPod(func(p *corev1.Pod) {
		p.Annotations[annotations.RunFor] = "long"
		needsSecret(p, &p.Spec.Containers[0])
	})
	if _, err := client.CoreV1().Pods("n").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for reason, want := range map[string]corev1.EventSource{
		"InvalidAnnotation": {Component: "ctrlplane-nodes"},
		"FailedMount":       {Component: "kubelet", Host: "node-1"},
	} {
		if got := awaitEvent(t, client, func(e *corev1.Event) bool { return e.Reason == reason }); got.Source != want {
			t.Errorf("%s comes from %+v", reason, got.Source)
		}
	}
}

// awaitEvent waits until an event of the namespace n is as it should be, perhaps one from before the call.
func awaitEvent(t *testing.T, client kubernetes.Interface, isRight func(*corev1.Event) bool) *corev1.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	w, err := client.CoreV1().Events("n").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	list, err := client.CoreV1().Events("n").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if isRight(&list.Items[i]) {
			return &list.Items[i]
		}
	}
	return awaitWatchEvent(ctx, t, w, func(e watch.Event) bool {
		event, ok := e.Object.(*corev1.Event)
		return ok && isRight(event)
	}).Object.(*corev1.Event)
}

// TestFleetReportsDeadlines has one event of a kubelet about a Pod that exceeds its deadline.
func TestFleetReportsDeadlines(t *testing.T) {
	client := fake.NewClientset()
	f := startTestFleet(t, client, Config{Count: 1})
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.ActiveDeadlineSeconds = new(int64(60))
		p.Status.StartTime = &metav1.Time{Time: time.Now().Add(-time.Hour)}
	})
	if _, err := client.CoreV1().Pods("n").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitForPod(t, client, pod, func(p *corev1.Pod) bool { return p.Status.Reason == "DeadlineExceeded" })
	got := awaitEvent(t, client, func(e *corev1.Event) bool { return e.Reason == "DeadlineExceeded" })
	if got.Type != corev1.EventTypeNormal || got.Message != "Pod was active on the node longer than the specified deadline" {
		t.Errorf("got %+v", got)
	}
	if event, again := f.registry.takeDeadlineEvent(pod); again {
		t.Errorf("reported again: %+v", event)
	}
}
