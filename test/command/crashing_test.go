package command_test

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

const crashingManifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: busybox, command: [sleep, infinity]}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: busybox, command: [sh, -c, echo cannot read config; exit 1]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: sidecar}
spec:
  initContainers: [{name: proxy, image: busybox, restartPolicy: Always, command: [sh, -c, exit 1]}]
  containers: [{name: app, image: busybox, command: [sleep, infinity]}]
`

// watchedPods are the Pods of a namespace, as a watch shows them.
type watchedPods struct {
	mu      sync.Mutex
	pods    map[string]*corev1.Pod
	crashed []string // containers that exit at once, and were shown as running or ready
	fewest  int      // ready Pods of the Deployment, once all have been ready
}

func watchPods(t *testing.T, p *program.ControlPlane) *watchedPods {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w, err := p.Client(t).CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watched := &watchedPods{pods: map[string]*corev1.Pod{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range w.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				watched.see(event.Type, pod)
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return watched
}

func (w *watchedPods) see(change watch.EventType, pod *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pods[pod.Name] = pod
	if change == watch.Deleted {
		delete(w.pods, pod.Name)
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if exitsAtOnce(pod, s.Name) && (s.Ready || s.State.Running != nil) {
			w.crashed = append(w.crashed, pod.Name+"/"+s.Name)
		}
	}
	if pod.Labels["app"] == "web" {
		w.fewest = min(w.fewest, w.count(isReady))
	}
}

// exitsAtOnce reports whether a container of the test exits before it waits for anything.
func exitsAtOnce(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		return c.Name == name && c.Command[0] == "sh"
	})
}

// count returns how many Pods of the Deployment are so. It needs the lock.
func (w *watchedPods) count(is func(*corev1.Pod) bool) (n int) {
	for _, pod := range w.pods {
		if pod.Labels["app"] == "web" && is(pod) {
			n++
		}
	}
	return n
}

// TestCrashingContainers has containers that exit at once. No version of their Pods may be ready: a rolling update, a
// StatefulSet and what waits for a sidecar would go on.
func TestCrashingContainers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := program.Up(t, dir, "--nodes", "1")
	watched := watchPods(t, p)
	file := filepath.Join(t.TempDir(), "crashing.yaml")
	testutil.WriteFile(t, file, crashingManifest)
	program.MustRun(t, dir, "kubectl", "apply", "-f", file)
	program.MustRun(t, dir, "kubectl", "rollout", "status", "deployment/web", "--timeout=5m")
	watched.mu.Lock()
	watched.fewest = 5
	watched.mu.Unlock()
	program.MustRun(t, dir, "kubectl", "patch", "deployment", "web", "-p",
		`{"spec": {"template": {"spec": {"containers": [{"name": "web", "command": ["sh", "-c", "exit 1"]}]}}}}`)
	backsOff := waitingFor("CrashLoopBackOff")
	p.Await(t, "with 3 crashing Pods of the update", func() bool {
		watched.mu.Lock()
		defer watched.mu.Unlock()
		return watched.count(backsOff) == 3 && watched.count(isReady) == 4
	})
	awaitPod(t, p, "db-0", "backing off", backsOff)
	awaitPod(t, p, "sidecar", "backing off", func(pod *corev1.Pod) bool {
		s := pod.Status.InitContainerStatuses
		return len(s) == 1 && s[0].State.Waiting != nil && s[0].State.Waiting.Reason == "CrashLoopBackOff"
	})
	watched.mu.Lock()
	defer watched.mu.Unlock()
	if len(watched.crashed) > 0 || watched.fewest < 4 {
		t.Errorf("shown as running: %q; at least %d Pods of the Deployment were ready, want 4", watched.crashed, watched.fewest)
	}
	if watched.pods["db-1"] != nil {
		t.Error("the StatefulSet went on to its second Pod")
	}
	if app := watched.pods["sidecar"].Status.ContainerStatuses[0]; app.State.Waiting == nil || app.State.Waiting.Reason != "PodInitializing" {
		t.Errorf("the container after the sidecar: %+v", app.State)
	}
}
