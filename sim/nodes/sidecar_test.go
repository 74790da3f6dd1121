package nodes

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

func withSidecar(p *corev1.Pod) {
	p.Spec.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: &always}, {Name: "i"}}
}

// A sidecar that was restarted because its startup probe failed has not started: what
// comes after it waits, as with computeInitContainerActions of a kubelet.
func TestRestartedSidecarThatHasNotStarted(t *testing.T) {
	pod := testPod(withSidecar)
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: "s", RestartCount: 1, Started: ptr.To(false),
		State:                corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137}},
	}}
	st, _ := podStatus(pod, testPlacement, epoch)
	pod.Status = st
	if got, want := describePod(pod), "Pending, s: runs #1, i: PodInitializing, a: PodInitializing"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	st.InitContainerStatuses[0].Started = ptr.To(true)
	pod.Status, _ = podStatus(pod, testPlacement, epoch)
	if got, want := describePod(pod), "Pending, s: runs #1, i: runs, a: PodInitializing"; got != want {
		t.Errorf("once it has started: got %s, want %s", got, want)
	}
}

// A sidecar that restarts does not make the Pod wait once more.
func TestRestartedSidecarOfAnInitializedPod(t *testing.T) {
	pod := testPod(withSidecar)
	timeline(pod, testPlacement, 9)
	s := &pod.Status.InitContainerStatuses[0]
	s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
	s.RestartCount, s.Started = 1, ptr.To(false)
	pod.Status, _ = podStatus(pod, testPlacement, epoch)
	if got, want := describePod(pod), "Running, ready, s: runs #1, i: exit 0, a: runs"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestInitializedNeedsStartedSidecars compares with upstream's
// status.GeneratePodInitializedCondition: whether a sidecar is ready does not matter.
func TestInitializedNeedsStartedSidecars(t *testing.T) {
	for want, sidecar := range map[string]corev1.ContainerStatus{
		"i":   {Name: "s", Started: ptr.To(true), Ready: false},
		"s i": {Name: "s", Started: ptr.To(false), Ready: true},
	} {
		pod := testPod(withSidecar)
		sidecar.State.Running = &corev1.ContainerStateRunning{}
		st := corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{sidecar, {Name: "i"}}}
		setConditions(pod, &st, epoch)
		for _, c := range st.Conditions {
			if c.Type == corev1.PodInitialized && c.Message != "containers with incomplete status: ["+want+"]" {
				t.Errorf("%+v: got %q", sidecar, c.Message)
			}
		}
	}
}

// Sidecars do not restart while a Pod stops whose main containers are done.
func TestSidecarsDoNotRestartWhileThePodStops(t *testing.T) {
	at, changed := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
		p.Spec.InitContainers = []corev1.Container{
			{Name: "stays", RestartPolicy: &always, Command: []string{"sh", "-c", "trap '' TERM; echo up; while :; do sleep 100; done"}},
			{Name: "fails", RestartPolicy: &always, Command: []string{"sh", "-c", "trap 'exit 1' TERM; while :; do sleep 0.01; done"}},
		}
		p.Spec.Containers[0].Command = []string{"sh", "-c", untilGo}
	})
	deadline := time.After(patience)
	playUntil := func(want string) {
		for {
			pod.Status, _ = podStatus(pod.DeepCopy(), at, time.Now())
			if strings.Contains(describePod(pod), want) {
				return
			}
			select {
			case <-changed:
			case <-time.After(10 * time.Millisecond):
			case <-deadline:
				t.Fatalf("the pod is %s, waited for %s", describePod(pod), want)
			}
		}
	}
	playUntil("a: runs")
	awaitUp(t, pod, at, "stays")
	touch(t, pod, at, "/tmp/go")
	playUntil("a: exit 0")
	playUntil("fails: exit 1")
	last := pod.Status.InitContainerStatuses[1]
	for range 4 {
		pod.Status, _ = podStatus(pod.DeepCopy(), at, time.Now().Add(time.Hour))
	}
	s := pod.Status.InitContainerStatuses[1]
	if s.RestartCount != last.RestartCount || s.State.Terminated == nil || pod.Status.Phase == corev1.PodSucceeded {
		t.Errorf("got %s, before %d restarts", describePod(pod), last.RestartCount)
	}
}

// TestSidecarThatEndsBeforeItHasStarted lets a sidecar exit with 0 while its startup probe
// fails: what comes after it waits, also if the run has ended before it is seen.
func TestSidecarThatEndsBeforeItHasStarted(t *testing.T) {
	for name, seesRun := range map[string]bool{"seen while it runs": true, "seen after its end": false} {
		t.Run(name, func(t *testing.T) {
			at, changed := commandsFixture(t)
			pod := testPod(withSidecar)
			s := &pod.Spec.InitContainers[0]
			s.Command = []string{"sh", "-c", "until test -e /tmp/end; do sleep 0.01; done"}
			s.StartupProbe = &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 100, ProbeHandler: corev1.ProbeHandler{
				Exec: &corev1.ExecAction{Command: []string{"false"}},
			}}
			if st, _ := podStatus(pod, at, time.Now()); seesRun {
				pod.Status = st
			}
			if err := at.commands.runtime.Exec(t.Context(), pod, "s", 0, []string{"touch", "/tmp/end"}, container.Streams{}); err != nil {
				t.Fatal(err)
			}
			awaitEnd(t, pod, at, changed, "s")
			for range 2 {
				pod.Status, _ = podStatus(pod.DeepCopy(), at, time.Now())
				if !strings.HasPrefix(describePod(pod), "Pending, ") || !strings.HasSuffix(describePod(pod), ", i: PodInitializing, a: PodInitializing") {
					t.Errorf("got %s", describePod(pod))
				}
			}
		})
	}
}
