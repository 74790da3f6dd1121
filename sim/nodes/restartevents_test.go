package nodes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// TestBackoffEvents has one event for each delay before a restart.
func TestBackoffEvents(t *testing.T) {
	node := smallNode()
	l := newTestRegistry(t, node)
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: &always}}
	})
	waits := func(restarts int32) corev1.ContainerStatus {
		s := corev1.ContainerStatus{RestartCount: restarts}
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
		return s
	}
	event := func(c string) podEvent {
		return podEvent{warning: true, container: c, reason: "BackOff", message: "Back-off restarting failed container " + c + " in pod p_n(u)"}
	}
	for i, test := range []struct {
		sidecar, main int32 // after so many restarts
		want          []podEvent
	}{
		{1, 1, []podEvent{event("s"), event("a")}},
		{1, 1, nil},
		{1, 2, []podEvent{event("a")}},
		{2, 2, []podEvent{event("s")}},
		{2, 2, nil},
	} {
		sidecar, main := waits(test.sidecar), waits(test.main)
		sidecar.Name, main.Name = "s", "a"
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses = []corev1.ContainerStatus{sidecar}, []corev1.ContainerStatus{main}
		if diff := cmp.Diff(test.want, l.updatePod(pod, false, node).events, cmp.AllowUnexported(podEvent{})); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
}

// TestImageChangeRestartsContainer changes the image of a container and of a sidecar: both
// restart at once. The init container has completed.
func TestImageChangeRestartsContainer(t *testing.T) {
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
		p.Spec.InitContainers = []corev1.Container{{Name: "i"}, {Name: "s", RestartPolicy: &always}}
	})
	timeline(pod, testPlacement, 9)
	for c := range podutil.ContainerIter(&pod.Spec, podutil.InitContainers|podutil.Containers) {
		c.Image = "nginx:2"
	}
	main := podEvent{container: "a", reason: "Killing", message: "Container a definition changed, will be restarted"}
	init := podEvent{container: "s", reason: "Killing", message: "Init container s definition changed"}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   []podEvent
	}{
		"running":             {func(*corev1.Pod) {}, []podEvent{init, main}},
		"sidecar not started": {func(p *corev1.Pod) { p.Status.InitContainerStatuses[1].Started = new(false) }, []podEvent{main}},
		"deleted":             {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: epoch} }, nil},
		"failed":              {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, nil},
	} {
		changed := pod.DeepCopy()
		test.change(changed)
		if diff := cmp.Diff(test.want, new(restartBackoffs).takeEvents(changed), cmp.AllowUnexported(podEvent{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if diff := cmp.Diff([]string{"0s Running, ready, i: exit 0, s: runs #1, a: runs #1", "rests"}, timeline(pod, testPlacement, 9)); diff != "" {
		t.Error(diff)
	}
	if s := pod.Status.ContainerStatuses[0]; s.Image != "nginx:2" {
		t.Errorf("got %+v", s)
	}
}

// TestImageChangeRestartsACommand stops a command with SIGTERM. Until it has ended, the status
// has its image, and reports no resize.
func TestImageChangeRestartsACommand(t *testing.T) {
	at, changed := commandsFixture(t)
	node := smallNode()
	l := newTestRegistry(t, node)
	pod := slowToStopPod()
	play(t, pod, at, changed, time.Now, "Running, ready, a: runs")
	awaitUp(t, pod, at, "a")
	pod.Generation++
	pod.Spec.Containers[0].Image = "nginx:2"
	want := []podEvent{{container: "a", reason: "Killing", message: "Container a definition changed, will be restarted"}}
	for range 2 {
		if diff := cmp.Diff(want, l.updatePod(pod, false, node).events, cmp.AllowUnexported(podEvent{})); diff != "" {
			t.Error(diff)
		}
		want = nil
	}
	play(t, pod, at, changed, time.Now, "Running, ready, a: runs")
	if s := pod.Status.ContainerStatuses[0]; s.Image != "nginx" {
		t.Errorf("while it stops: %+v", s)
	}
	if i, _ := podutil.GetPodCondition(&pod.Status, corev1.PodResizeInProgress); i >= 0 {
		t.Errorf("conditions while it stops: %+v", pod.Status.Conditions)
	}
	pod.Generation++
	pod.Spec.Containers[0].Image = "nginx"
	st, _ := podStatus(pod, at, time.Now())
	if _, c := podutil.GetPodCondition(&st, corev1.PodResizeInProgress); c != nil {
		t.Errorf("after the image was changed back: %+v", c)
	}
	pod.Generation++
	pod.Spec.Containers[0].Image = "nginx:2"
	touch(t, pod, at, "/tmp/go")
	play(t, pod, at, changed, time.Now, "Running, ready, a: runs #1")
	if s := pod.Status.ContainerStatuses[0]; s.Image != "nginx:2" {
		t.Errorf("after the restart: %+v", s)
	}
}
