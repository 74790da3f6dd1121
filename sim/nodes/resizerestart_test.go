package nodes

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// TestSpecChangesWhileAResizeRestarts changes a Pod while its container stops for a resize:
// the container starts again, although it exits with 0, as a kubelet has decided that before.
func TestSpecChangesWhileAResizeRestarts(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod, *placement){
		"reverted": func(p *corev1.Pod, _ *placement) { resize(p, "100m", "64Mi") },
		"deferred": func(p *corev1.Pod, at *placement) {
			resize(p, "100m", "1Ti")
			at.resizeRejected = &rejection{"OutOfmemory", "full"}
		},
		"another change": func(p *corev1.Pod, _ *placement) { p.Generation++ },
	} {
		t.Run(name, func(t *testing.T) {
			pod, at, changed := playResizeRestart(t)
			change(pod, &at)
			play(t, pod, at, changed, time.Now, "Running, ready, a: runs")
			if _, c := podutil.GetPodCondition(&pod.Status, corev1.PodResizeInProgress); c == nil || c.ObservedGeneration != 2 { // as upstream keeps it
				t.Errorf("condition while it stops: %+v", c)
			}
			touch(t, pod, at, "/tmp/go")
			got := play(t, pod, at, changed, time.Now, "Running, ready, a: runs #1")
			if strings.Contains(strings.Join(got, "; "), "exit") {
				t.Errorf("got %q", got)
			}
			if i, _ := podutil.GetPodCondition(&pod.Status, corev1.PodResizeInProgress); i >= 0 {
				t.Errorf("conditions after the resize: %+v", pod.Status.Conditions)
			}
		})
	}
}

// crash ends the main container of a Pod with an error.
func crash(p *corev1.Pod) {
	s := &p.Status.ContainerStatuses[0]
	end := &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", ContainerID: s.ContainerID}
	end.StartedAt.Time, end.FinishedAt.Time = epoch, epoch
	s.State, s.Ready = corev1.ContainerState{Terminated: end}, false
}

// TestBackoffAfterAResizeRestart has the delays of upstream's kubelet, which counts the first
// restart after an exit that it finds: it finds none before the first resize.
func TestBackoffAfterAResizeRestart(t *testing.T) {
	at := testPlacement
	at.backoffs = &restartBackoffs{}
	pod := testPod(resizable)
	timeline(pod, at, 9)
	check := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(append(want, "rests"), timeline(pod, at, 9)); diff != "" {
			t.Error(diff)
		}
	}
	resize(pod, "100m", "128Mi")
	check("0s Running, ready, a: runs #1")
	crash(pod)
	check("0s Running, ready, a: runs #2")
	crash(pod)
	check("0s Running, a: CrashLoopBackOff #2", "10s Running, ready, a: runs #3")
	resize(pod, "100m", "256Mi")
	check("0s Running, ready, a: runs #4")
	crash(pod)
	check("0s Running, a: CrashLoopBackOff #4", "10s Running, ready, a: runs #5")
}

// TestChangesEndABackoff changes what upstream has in the key of a backoff, while a container
// waits.
func TestChangesEndABackoff(t *testing.T) {
	const waits, starts = "10s Running, ready, a: runs #2", "0s Running, ready, a: runs #2"
	for name, c := range map[string]struct {
		change func(*corev1.Pod, *placement)
		want   string
	}{
		"memory":         {func(p *corev1.Pod, _ *placement) { resize(p, "100m", "128Mi") }, starts},
		"CPU":            {func(p *corev1.Pod, _ *placement) { resize(p, "200m", "64Mi") }, starts},
		"image":          {func(p *corev1.Pod, _ *placement) { p.Generation++; p.Spec.Containers[0].Image = "new" }, starts},
		"same amount":    {func(p *corev1.Pod, _ *placement) { resize(p, "0.1", "65536Ki") }, waits},
		"another change": {func(p *corev1.Pod, _ *placement) { p.Generation++ }, waits},
		"deferred": {func(p *corev1.Pod, at *placement) {
			resize(p, "9", "64Mi")
			at.resizeRejected = &rejection{"OutOfcpu", "full"}
		}, waits},
	} {
		t.Run(name, func(t *testing.T) {
			at := testPlacement
			at.backoffs = &restartBackoffs{}
			pod := testPod(resizable)
			timeline(pod, at, 9)
			crash(pod)
			timeline(pod, at, 1)
			crash(pod)
			timeline(pod, at, 1)
			c.change(pod, &at)
			got := timeline(pod, at, 2) // the first may only observe the generation
			if !slices.Contains(got, c.want) || c.want == waits && slices.Contains(got, starts) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
