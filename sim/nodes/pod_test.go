package nodes

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

var (
	epoch         = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	always        = corev1.ContainerRestartPolicyAlways
	testPlacement = placement{hostIPs: []netip.Addr{netip.MustParseAddr("172.16.0.1")}, podIPs: []netip.Addr{netip.MustParseAddr("10.244.0.1")}}
)

func testPod(change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", UID: "u", Generation: 1, Annotations: map[string]string{}},
		Spec: corev1.PodSpec{
			NodeName:      "node-1",
			RestartPolicy: corev1.RestartPolicyAlways,
			Containers:    []corev1.Container{{Name: "a", Image: "nginx"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	if change != nil {
		change(pod)
	}
	for c := range podutil.ContainerIter(&pod.Spec, podutil.InitContainers|podutil.Containers) {
		if c.Image == "" {
			c.Image = "nginx"
		}
	}
	return pod
}

// timeline returns one line for each change of a Pod that nothing triggers.
func timeline(pod *corev1.Pod, at placement, steps int) []string {
	var lines []string
	now := epoch
	for range steps {
		what := nextPodStage(pod, at, now)
		if what.name == "" {
			return append(lines, "rests")
		}
		now = what.at
		pod.Status, _ = podStatus(pod, at, now)
		lines = append(lines, fmt.Sprintf("%v %s", now.Sub(epoch), describePod(pod)))
	}
	return lines
}

func describePod(pod *corev1.Pod) string {
	parts := []string{string(pod.Status.Phase)}
	if pod.Status.Reason != "" {
		parts = append(parts, pod.Status.Reason)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			parts = append(parts, "ready")
		}
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses} {
		for _, s := range list {
			state := "runs"
			switch {
			case s.State.Waiting != nil:
				state = s.State.Waiting.Reason
			case s.State.Terminated != nil:
				state = fmt.Sprintf("exit %d", s.State.Terminated.ExitCode)
			}
			if s.RestartCount > 0 {
				state += fmt.Sprintf(" #%d", s.RestartCount)
			}
			parts = append(parts, s.Name+": "+state)
		}
	}
	return strings.Join(parts, ", ")
}

func TestPodTimelines(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		at     placement
		want   []string
	}{
		"runs on": {nil, testPlacement, []string{"0s Running, ready, a: runs", "rests"}},
		"of a Job": {
			func(p *corev1.Pod) {
				p.Spec.RestartPolicy = corev1.RestartPolicyNever
				p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Controller: ptr.To(true)}}
			}, testPlacement,
			[]string{"0s Running, ready, a: runs", "0s Succeeded, a: exit 0", "rests"},
		},
		"of a Job with the image that only waits": {
			func(p *corev1.Pod) {
				p.Spec.RestartPolicy = corev1.RestartPolicyNever
				p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Controller: ptr.To(true)}}
				p.Spec.Containers[0].Image = "registry.k8s.io/pause:3.10.1@sha256:0"
			}, testPlacement,
			[]string{"0s Running, ready, a: runs", "rests"},
		},
		"of a Job with the image that only waits, and a duration": {
			func(p *corev1.Pod) {
				p.Spec.RestartPolicy = corev1.RestartPolicyNever
				p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Controller: ptr.To(true)}}
				p.Spec.Containers[0].Image = "registry.k8s.io/pause:3.10.1"
				p.Annotations[annotations.RunFor] = "5s"
			}, testPlacement,
			[]string{"0s Running, ready, a: runs", "5s Succeeded, a: exit 0", "rests"},
		},
		"init container with the image that only waits": {
			func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "pause"}} }, testPlacement,
			[]string{"0s Pending, i: runs, a: PodInitializing", "rests"},
		},
		"of a Job that works a while": {
			func(p *corev1.Pod) {
				p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
				p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Controller: ptr.To(true)}}
				p.Annotations[annotations.RunFor] = "5s"
			}, testPlacement,
			[]string{"0s Running, ready, a: runs", "5s Succeeded, a: exit 0", "rests"},
		},
		"crash loop": {
			func(p *corev1.Pod) {
				p.Annotations[annotations.ExitCode], p.Annotations[annotations.RunFor] = "3", "1s"
			}, testPlacement,
			[]string{
				"0s Running, ready, a: runs", "1s Running, a: exit 3", "1s Running, ready, a: runs #1",
				"2s Running, a: exit 3 #1", "2s Running, a: CrashLoopBackOff #1", "12s Running, ready, a: runs #2",
				"13s Running, a: exit 3 #2", "13s Running, a: CrashLoopBackOff #2", "33s Running, ready, a: runs #3",
			},
		},
		"fails once": {
			func(p *corev1.Pod) {
				p.Annotations[annotations.ExitCode], p.Annotations[annotations.Failures] = "1", "1"
			}, testPlacement,
			[]string{"0s Running, a: exit 1", "0s Running, ready, a: runs #1", "rests"},
		},
		"crash loop that begins at once": {
			func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: &always}}
				p.Annotations[annotations.ExitCode] = "s=1"
			}, testPlacement,
			[]string{
				"0s Pending, s: exit 1, a: PodInitializing", "0s Pending, s: exit 1 #1, a: PodInitializing",
				"0s Pending, s: CrashLoopBackOff #1, a: PodInitializing", "10s Pending, s: exit 1 #2, a: PodInitializing",
				"10s Pending, s: CrashLoopBackOff #2, a: PodInitializing", "30s Pending, s: exit 1 #3, a: PodInitializing",
				"30s Pending, s: CrashLoopBackOff #3, a: PodInitializing", "1m10s Pending, s: exit 1 #4, a: PodInitializing",
				"1m10s Pending, s: CrashLoopBackOff #4, a: PodInitializing",
			},
		},
		"fails for good": {
			func(p *corev1.Pod) {
				p.Spec.RestartPolicy = corev1.RestartPolicyNever
				p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "b"})
				p.Annotations[annotations.ExitCode] = "a=0,b=7"
			}, testPlacement,
			[]string{"0s Failed, a: exit 0, b: exit 7", "rests"},
		},
		"ready later": {
			func(p *corev1.Pod) { p.Annotations[annotations.ReadyAfter] = "10s" }, testPlacement,
			[]string{"0s Running, a: runs", "10s Running, ready, a: runs", "rests"},
		},
		"init containers and a sidecar": {
			func(p *corev1.Pod) {
				p.Spec.RestartPolicy = corev1.RestartPolicyNever
				p.Spec.InitContainers = []corev1.Container{{Name: "i"}, {Name: "s", RestartPolicy: &always}}
				p.Annotations[annotations.RunFor] = "2s"
			}, testPlacement,
			[]string{
				"0s Pending, i: runs, s: PodInitializing, a: PodInitializing", "0s Running, ready, i: exit 0, s: runs, a: runs",
				"2s Succeeded, i: exit 0, s: exit 0, a: exit 0", "rests",
			},
		},
		"init container fails": {
			func(p *corev1.Pod) {
				p.Spec.RestartPolicy = corev1.RestartPolicyNever
				p.Spec.InitContainers = []corev1.Container{{Name: "i"}}
				p.Annotations[annotations.ExitCode] = "i=1"
			}, testPlacement,
			[]string{"0s Pending, i: runs, a: PodInitializing", "0s Failed, i: exit 1, a: PodInitializing", "rests"},
		},
		"readiness gate": {
			func(p *corev1.Pod) { p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "g"}} }, testPlacement,
			[]string{"0s Running, a: runs", "rests"},
		},
		"readiness gate that is open": {
			func(p *corev1.Pod) {
				p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "g"}}
				p.Status.Conditions = []corev1.PodCondition{{Type: "g", Status: corev1.ConditionTrue}}
			}, testPlacement,
			[]string{"0s Running, ready, a: runs", "rests"},
		},
		"ephemeral container": {
			func(p *corev1.Pod) {
				p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e"}}}
			}, testPlacement,
			[]string{"0s Running, ready, a: runs, e: runs", "rests"},
		},
		"active deadline": {
			func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](30) }, testPlacement,
			[]string{"0s Running, ready, a: runs", "30s Failed, DeadlineExceeded, a: exit 143", "rests"},
		},
		"host port taken": {nil, placement{rejected: &rejection{"NodePorts", "taken"}}, []string{"0s Failed, NodePorts", "rests"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, timeline(testPod(c.change), c.at, 9)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A status is written again only if it has to change.
func TestNextPodStageAfterChange(t *testing.T) {
	pod := testPod(nil)
	timeline(pod, testPlacement, 9)
	if what := nextPodStage(pod, testPlacement, epoch.Add(time.Hour)); what.name != "" {
		t.Errorf("due for an up-to-date Pod: %+v", what)
	}
	pod.Generation++
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	if what := nextPodStage(pod, testPlacement, epoch); what.name != podStatusNow {
		t.Fatalf("due for a resized Pod: %+v", what)
	}
	pod.Status, _ = podStatus(pod, testPlacement, epoch)
	if pod.Status.ObservedGeneration != 2 || pod.Status.ContainerStatuses[0].Resources.Requests.Cpu().String() != "2" {
		t.Errorf("status after the resize: %+v", pod.Status)
	}
}

// A Pod whose containers ask for no resources can be resized, too: the API server accepts
// that only if each running container has resources in its status, as with a kubelet.
func TestStatusHasResources(t *testing.T) {
	pod := testPod(nil)
	timeline(pod, testPlacement, 9)
	if s := pod.Status.ContainerStatuses[0]; s.Resources == nil {
		t.Errorf("got %+v", s)
	}
}

func TestNextPodStageOfDeletion(t *testing.T) {
	deleted := func(stopAfter string) *corev1.Pod {
		pod := testPod(func(p *corev1.Pod) { p.Annotations[annotations.StopAfter] = stopAfter })
		timeline(pod, testPlacement, 9)
		at := metav1.NewTime(epoch.Add(30 * time.Second))
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, ptr.To[int64](30)
		return pod
	}
	for stopAfter, want := range map[string]dueStage{
		"0s":  {name: podDeleteNow, at: epoch},
		"5s":  {name: podDeleteLater, at: epoch.Add(5 * time.Second)},
		"50s": {name: podDeleteLater, at: epoch.Add(30 * time.Second)},
	} {
		pod := deleted(stopAfter)
		if got := nextPodStage(pod, testPlacement, epoch); got != want {
			t.Errorf("stop after %s: %+v, want %+v", stopAfter, got, want)
		}
		pod.Status, _ = podStatus(pod, testPlacement, want.at)
		if got := describePod(pod); got != "Failed, a: exit 143" {
			t.Errorf("status of a deleted Pod: %s", got)
		}
	}
}
