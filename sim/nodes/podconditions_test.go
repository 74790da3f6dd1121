package nodes

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"
)

// conditionReasons returns the conditions of a Pod that are not true, with their reasons, and the
// names of those that are.
func conditionReasons(st corev1.PodStatus) string {
	var all []string
	for _, c := range st.Conditions {
		text := string(c.Type)
		if c.Status != corev1.ConditionTrue {
			text += "=" + string(c.Status) + " " + c.Reason
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// TestConditionsOfDeletedPod deletes a Pod, which a finalizer keeps: its conditions are those of
// the phase in which it ends.
func TestConditionsOfDeletedPod(t *testing.T) {
	for code, want := range map[int32]string{
		0: "Succeeded, a: exit 0: ContainersReady=False PodCompleted, Initialized, PodReadyToStartContainers=False PodSandboxNotReady, PodScheduled, Ready=False PodCompleted",
		1: "Failed, a: exit 1: ContainersReady=False PodFailed, Initialized, PodReadyToStartContainers=False PodSandboxNotReady, PodScheduled, Ready=False PodFailed",
	} {
		pod := testPod(nil)
		timeline(pod, testPlacement, 9)
		pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
		pod = deletedPod(pod)
		pod.Status, _ = podStatus(pod, testPlacement, epoch.Add(time.Minute))
		if got := describePod(pod) + ": " + conditionReasons(pod.Status); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestPhaseOfOthers has Pods to which another client gives a final phase: as with a kubelet,
// their containers stop, and they are not ready any more.
func TestPhaseOfOthers(t *testing.T) {
	for phase, reason := range map[corev1.PodPhase]string{corev1.PodSucceeded: "PodCompleted", corev1.PodFailed: "PodFailed"} {
		pod := testPod(func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}}
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "b"})
		})
		timeline(pod, testPlacement, 9)
		b := &pod.Status.ContainerStatuses[1]
		b.State, b.LastTerminationState = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reasonCrashLoopBackOff}},
			corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}
		pod.Status.Phase, pod.Status.Reason = phase, "Other"
		want := []string{"0s " + string(phase) + ", Other, s: exit 143, a: exit 143, b: exit 3", "rests"}
		if got := timeline(pod, testPlacement, 9); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
			if _, c := podutil.GetPodCondition(&pod.Status, kind); c == nil || c.Status != corev1.ConditionFalse || c.Reason != reason {
				t.Errorf("%s: %s: %+v", phase, kind, c)
			}
		}
	}
}

// TestPhaseOfOthersStopsCommands has the exit code of a command that stops because another client
// has given its Pod a final phase.
func TestPhaseOfOthersStopsCommands(t *testing.T) {
	at, changed := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.Containers[0].Command = []string{"sh", "-c", "trap '" + untilGo + "; exit 5' TERM; echo up; while true; do sleep 0.01; done"}
	})
	play(t, pod, at, changed, time.Now, "Running, ready, a: runs")
	awaitUp(t, pod, at, "a")
	pod.Status.Phase = corev1.PodFailed
	play(t, pod, at, changed, time.Now, "Failed, a: runs") // while the command stops
	touch(t, pod, at, "/tmp/go")
	play(t, pod, at, changed, time.Now, "Failed, a: exit 5")
}

// TestConditionsOfRejectedPod rejects a Pod, as the kubelet's rejectPod does: the conditions of a
// kubelet go, those of other clients stay.
func TestConditionsOfRejectedPod(t *testing.T) {
	pod := testPod(func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: "example.com/gate", Status: corev1.ConditionTrue}}
	})
	pod.Status, _ = podStatus(pod, placement{rejected: &rejection{"OutOfcpu", "full"}}, epoch)
	if got := describePod(pod) + ": " + conditionReasons(pod.Status); got != "Failed, OutOfcpu: example.com/gate" {
		t.Errorf("got %s", got)
	}
	if pod.Status.StartTime == nil || !pod.Status.StartTime.Time.Equal(epoch) || pod.Status.ObservedGeneration != 1 {
		t.Errorf("got %+v", pod.Status)
	}
}

// TestConditionsAfterResize has the generation that each condition of a kubelet follows.
func TestConditionsAfterResize(t *testing.T) {
	pod := testPod(nil)
	timeline(pod, testPlacement, 9)
	pod.Generation++
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	timeline(pod, testPlacement, 9)
	for _, c := range pod.Status.Conditions {
		if c.ObservedGeneration != 2 || !c.LastTransitionTime.Time.Equal(epoch) {
			t.Errorf("%s: %+v", c.Type, c)
		}
	}
}
