package nodes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
	"github.com/ctrlplane/ctrlplane/sim/container"
)

// TestRestartAllContainers follows a Pod whose main container ends so that all
// containers begin again, with the init containers.
func TestRestartAllContainers(t *testing.T) {
	never := corev1.ContainerRestartPolicyNever
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
		p.Spec.InitContainers = []corev1.Container{{Name: "i"}, {Name: "s", RestartPolicy: &always}}
		p.Spec.Containers = []corev1.Container{{Name: "a", RestartPolicy: &never, RestartPolicyRules: []corev1.ContainerRestartRule{{
			Action:    corev1.ContainerRestartRuleActionRestartAllContainers,
			ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
		}}}, {Name: "b"}}
		p.Annotations[annotations.ExitCode], p.Annotations[annotations.Failures], p.Annotations[annotations.RunFor] = "a=42", "1", "5s"
	})
	want := []string{
		"0s Pending, i: runs, s: PodInitializing, a: PodInitializing, b: PodInitializing",
		"0s Running, ready, i: exit 0, s: runs, a: runs, b: runs",
		"5s Running, i: exit 0, s: runs, a: exit 42, b: runs",
		"5s Running, i: RestartingAllContainers #1, s: RestartingAllContainers #1, a: RestartingAllContainers #1, b: RestartingAllContainers #1",
		"5s Running, i: RestartingAllContainers #1, s: PodInitializing #1, a: PodInitializing #1, b: PodInitializing #1",
		"7s Pending, i: runs #1, s: PodInitializing #1, a: PodInitializing #1, b: PodInitializing #1",
		"7s Running, ready, i: exit 0 #1, s: runs #1, a: runs #1, b: runs #1",
	}
	if diff := cmp.Diff(want, timeline(pod, testPlacement, len(want))); diff != "" {
		t.Error(diff)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.AllContainersRestarting && c.Status != corev1.ConditionFalse {
			t.Errorf("after the restart: %+v", c)
		}
	}
}

// TestRestartAllInAHook restarts all containers while the postStart hook of one runs: it begins again with the others.
func TestRestartAllInAHook(t *testing.T) {
	at, changed := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) {
		restartsAllOnFailure(p)
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
		p.Spec.Containers[0].Command = []string{"sh", "-c", "until [ -e /tmp/go ]; do sleep 0.01; done; exit 1"}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
			Name: "b", Command: []string{"sleep", "infinity"}, Lifecycle: postStart("until [ -e /tmp/go ]; do sleep 0.01; done"),
		})
	})
	play(t, pod, at, changed, time.Now, "Pending, a: runs, b: ContainerCreating")
	touch(t, pod, at, "/tmp/go")
	play(t, pod, at, changed, time.Now, "Running, a: RestartingAllContainers #1, b: RestartingAllContainers #1")
}

// TestRestartingAllCondition says why a Pod begins again, until it does.
func TestRestartingAllCondition(t *testing.T) {
	pod := testPod(func(p *corev1.Pod) {
		restartsAllOnFailure(p)
		p.Annotations[annotations.ExitCode], p.Annotations[annotations.Failures] = "1", "1"
	})
	got := []corev1.ConditionStatus{}
	for range 3 {
		pod.Status, _ = podStatus(pod, testPlacement, epoch)
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.AllContainersRestarting {
				got = append(got, c.Status)
			}
		}
	}
	want := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionFalse}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// restartsAllOnFailure gives a Pod a rule that restarts all of it when its main container fails.
func restartsAllOnFailure(p *corev1.Pod) {
	p.Spec.Containers[0].RestartPolicy = &always
	p.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{
		Action:    corev1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpNotIn, Values: []int32{0}},
	}}
}

// TestRestartingAllConditionOfAFinishedPod compares with upstream's
// status.GenerateAllContainersRestartingCondition: the phase comes first.
func TestRestartingAllConditionOfAFinishedPod(t *testing.T) {
	for phase, want := range map[corev1.PodPhase]string{corev1.PodFailed: "PodFailed", corev1.PodSucceeded: "PodCompleted"} {
		pod := testPod(restartsAllOnFailure)
		st := corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "a", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: sigtermExitCode}},
		}}}
		setConditions(pod, &st, epoch)
		_, got := podutil.GetPodCondition(&st, corev1.AllContainersRestarting)
		if got == nil || got.Status != corev1.ConditionFalse || got.Reason != want || got.Message != "" {
			t.Errorf("%s: got %+v, want False with %s", phase, got, want)
		}
	}
}

// TestRestartAllLeavesEphemeralContainers kills the other containers of a Pod only.
func TestRestartAllLeavesEphemeralContainers(t *testing.T) {
	at, changed := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) {
		restartsAllOnFailure(p)
		p.Spec.Containers[0].Command = []string{"sleep", "infinity"}
		p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name: "e", Image: "busybox", Command: []string{"sleep", "infinity"},
		}}}
	})
	play(t, pod, at, changed, time.Now, "Running, ready, a: runs, e: runs")
	restartAll(pod, &pod.Status, at.commands, time.Now())
	awaitEnd(t, pod, at, changed, "a")
	if e, _ := at.commands.runtime.State(pod.UID, "e", 0); e.Phase != container.Running {
		t.Errorf("the ephemeral container: %+v", e)
	}
}
