package nodes

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

// withoutCreating returns lines without those of a Pod whose first container starts: a command may end before the Pod is
// looked at once more.
func withoutCreating(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "Pending, ") && !strings.Contains(line, "exit") && !strings.Contains(line, "BackOff") && !strings.Contains(line, "Error")
	})
}

// TestCommandThatEndsAtOnce has commands that end before they wait for anything: they were never running, nor ready, and
// what comes after a sidecar does not start. Each end is told once.
func TestCommandThatEndsAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   []string
	}{
		"main container": {
			func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"sh", "-c", "echo no; exit 1"} },
			[]string{"Running, a: exit 1", "Running, a: exit 1 #1", "Running, a: CrashLoopBackOff #1"},
		},
		"sleep of no time": {
			func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"sleep", "0"} },
			[]string{"Running, a: exit 0", "Running, a: exit 0 #1", "Running, a: CrashLoopBackOff #1"},
		},
		"sidecar": {
			func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: &always, Command: []string{"false"}}, {Name: "i"}}
			},
			[]string{
				"Pending, s: exit 1, i: PodInitializing, a: PodInitializing", "Pending, s: exit 1 #1, i: PodInitializing, a: PodInitializing",
				"Pending, s: CrashLoopBackOff #1, i: PodInitializing, a: PodInitializing",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			at, changed := commandsFixture(t)
			pod := testPod(test.change)
			got := withoutCreating(play(t, pod, at, changed, time.Now, test.want[len(test.want)-1]))
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestEndIsNotItsOwnLast looks at a container that has ended while its next run is prepared.
func TestEndIsNotItsOwnLast(t *testing.T) {
	at, changed := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.Containers[0].Command = []string{"sh", "-c", "trap 'exit 1' TERM; while :; do sleep 0.01; done"}
		p.Spec.Containers[0].Lifecycle = postStart("until [ -e /tmp/go ]; do sleep 0.01; done")
	})
	play(t, pod, at, changed, time.Now, "Pending, a: ContainerCreating")
	touch(t, pod, at, "/tmp/go")
	play(t, pod, at, changed, time.Now, "Running, ready, a: runs")
	at.commands.runtime.KillContainers(pod.UID, []string{"a"})
	play(t, pod, at, changed, time.Now, "Running, a: exit 137")
	if s := pod.Status.ContainerStatuses[0]; s.LastTerminationState.Terminated != nil || s.RestartCount != 0 {
		t.Errorf("while the next run is in its hook: %+v", s)
	}
}

func postStart(script string) *corev1.Lifecycle {
	return &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", script}}}}
}

// TestPostStartHoldsLaterContainers has a main container that starts once the hook of the one before has completed.
func TestPostStartHoldsLaterContainers(t *testing.T) {
	at, changed := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{
			{Name: "a", Command: []string{"sleep", "infinity"}, Lifecycle: postStart("until [ -e /tmp/go ]; do sleep 0.01; done")},
			{Name: "b", Command: []string{"sleep", "infinity"}},
		}
	})
	play(t, pod, at, changed, time.Now, "Pending, a: ContainerCreating, b: ContainerCreating")
	touch(t, pod, at, "/tmp/go")
	for _, line := range play(t, pod, at, changed, time.Now, "Running, ready, a: runs, b: runs") {
		if strings.HasPrefix(line, "Pending, a: ContainerCreating, b: runs") {
			t.Errorf("the second started first: %s", line)
		}
	}
	a, b := pod.Status.ContainerStatuses[0].State.Running.StartedAt, pod.Status.ContainerStatuses[1].State.Running.StartedAt
	if b.Before(&a) {
		t.Errorf("started at %v and %v", a, b)
	}
}

// TestBlockedContainerHoldsNoOther has a hook in a container that cannot start.
func TestBlockedContainerHoldsNoOther(t *testing.T) {
	at, changed := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{
			{Name: "a", Command: []string{"sleep", "infinity"}, Lifecycle: postStart("true"), EnvFrom: []corev1.EnvFromSource{{
				ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "missing"}},
			}}},
			{Name: "b", Command: []string{"sleep", "infinity"}},
		}
	})
	play(t, pod, at, changed, time.Now, "Pending, a: CreateContainerConfigError, b: runs")
}

// TestPostStartHookError has a hook that fails: the status says so before each restart.
func TestPostStartHookError(t *testing.T) {
	at, changed := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.Containers[0].Command, p.Spec.Containers[0].Lifecycle = []string{"sleep", "infinity"}, postStart("echo no; echo why >&2; exit 3")
	})
	want := []string{"Running, a: PostStartHookError", "Running, a: PostStartHookError #1", "Running, a: CrashLoopBackOff #1"}
	got := play(t, pod, at, changed, time.Now, want[2])
	if got = withoutCreating(got); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	const message = `Exec lifecycle hook ([sh -c echo no; echo why >&2; exit 3]) for Container "a" in Pod "p_n(u)" failed - ` +
		"error: command 'sh -c echo no; echo why >&2; exit 3' exited with 3: why\n, message: \"no\\nwhy\\n\""
	state, _ := at.commands.runtime.State(pod.UID, "a", 1)
	s := failedHookStatus(terminatedStatus(pod, pod.Status.ContainerStatuses[0], mainContainer, state), state.HookError)
	if s.State.Waiting.Message != message || s.LastTerminationState.Terminated.ExitCode != sigtermExitCode {
		t.Errorf("got %+v, want %q", s, message)
	}
}

// TestDeletedInItsHook deletes a Pod while the postStart hook of its container hangs: its container has ended as it did.
func TestDeletedInItsHook(t *testing.T) {
	at, changed := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.Containers[0].Command = []string{"sh", "-c", "trap 'exit 0' TERM; touch /tmp/up; while :; do sleep 0.01; done"}
		p.Spec.Containers[0].Lifecycle = postStart("sleep 1000")
	})
	play(t, pod, at, changed, time.Now, "Pending, a: ContainerCreating")
	awaitTrap := []string{"sh", "-c", "until [ -e /tmp/up ]; do sleep 0.01; done"}
	if err := at.commands.runtime.Exec(t.Context(), pod, "a", 0, awaitTrap, container.Streams{}); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = new(metav1.NewTime(started.Add(time.Minute))), new(int64(60))
	stopPod(pod, at.commands, started)
	for at.commands.runtime.Runs(pod.UID) {
		<-changed
	}
	pod.Status, _ = podStatus(pod.DeepCopy(), at, started.Add(2*time.Minute))
	if got, want := describePod(pod), "Succeeded, a: exit 0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestCommandIsReadyAtOnce starts a command after the time for which its status is computed.
func TestCommandIsReadyAtOnce(t *testing.T) {
	at, _ := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"sleep", "infinity"} })
	pod.Status, _ = podStatus(pod.DeepCopy(), at, time.Now().Add(-time.Minute))
	if got, want := describePod(pod), "Running, ready, a: runs"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if state, _ := at.commands.runtime.State(pod.UID, "a", 0); state.Phase != container.Running {
		t.Errorf("got %+v", state)
	}
}
