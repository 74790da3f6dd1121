package nodes

import (
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestPodPhaseWhileAllRestart has the phases of upstream's kubelet for a Pod that has run
// before: an init container that has been removed or failed does not make it Pending, one
// that runs does.
func TestPodPhaseWhileAllRestart(t *testing.T) {
	ended := func(code int32) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error"}
	}
	removed := corev1.ContainerStatus{
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reasonRestartingAll}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: reasonRestartingAll}},
	}
	running := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, Started: ptr.To(true)}
	starting := corev1.ContainerStatus{State: running.State, Started: ptr.To(false)}
	waiting := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}
	failed := corev1.ContainerStatus{State: corev1.ContainerState{Terminated: ended(1)}}
	completed := corev1.ContainerStatus{State: corev1.ContainerState{Terminated: ended(0)}}
	crashes := corev1.ContainerStatus{State: waiting.State, LastTerminationState: failed.State}
	for name, c := range map[string]struct {
		policy             corev1.RestartPolicy
		init, sidecar, app corev1.ContainerStatus
		want               corev1.PodPhase
	}{
		"all removed":                      {corev1.RestartPolicyNever, removed, removed, removed, corev1.PodRunning},
		"the main container never started": {corev1.RestartPolicyNever, removed, waiting, waiting, corev1.PodPending},
		"the init container runs":          {corev1.RestartPolicyNever, running, removed, removed, corev1.PodPending},
		"the init container fails":         {corev1.RestartPolicyAlways, failed, removed, removed, corev1.PodRunning},
		"the init container crashes":       {corev1.RestartPolicyAlways, crashes, removed, removed, corev1.PodRunning},
		"the init container fails finally": {corev1.RestartPolicyNever, failed, removed, removed, corev1.PodFailed},
		"at the first start, it crashes":   {corev1.RestartPolicyAlways, crashes, waiting, waiting, corev1.PodPending},
		"the sidecar is starting":          {corev1.RestartPolicyNever, removed, starting, removed, corev1.PodPending},
		"the sidecar starts again":         {corev1.RestartPolicyNever, removed, starting, running, corev1.PodRunning},
		"the main container has ended":     {corev1.RestartPolicyAlways, removed, starting, completed, corev1.PodRunning},
		"the main container crashes":       {corev1.RestartPolicyAlways, removed, starting, crashes, corev1.PodRunning},
		"the sidecar is up":                {corev1.RestartPolicyNever, removed, running, removed, corev1.PodRunning},
	} {
		pod := testPod(func(p *corev1.Pod) {
			p.Spec.RestartPolicy = c.policy
			p.Spec.InitContainers = []corev1.Container{{Name: "i"}, {Name: "s", RestartPolicy: &always}}
		})
		c.init.Name, c.sidecar.Name, c.app.Name = "i", "s", "a"
		st := &corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{c.init, c.sidecar}, ContainerStatuses: []corev1.ContainerStatus{c.app}}
		if got := podPhase(pod, st); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestStatusesOfOtherContainers has statuses that the API server accepts from any client: of
// containers that the Pod does not have, in another order, and not of all.
func TestStatusesOfOtherContainers(t *testing.T) {
	ended := func(name string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}}
	}
	for name, st := range map[string]corev1.PodStatus{
		"an init container":  {InitContainerStatuses: []corev1.ContainerStatus{ended("x")}, ContainerStatuses: []corev1.ContainerStatus{ended("a"), ended("b")}},
		"main containers":    {ContainerStatuses: []corev1.ContainerStatus{ended("a"), ended("b"), ended("x")}},
		"only one container": {ContainerStatuses: []corev1.ContainerStatus{ended("b")}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := testPod(func(p *corev1.Pod) {
				p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "b"})
				p.Status = st
			})
			for range 2 {
				pod.Status, _ = podStatus(pod, testPlacement, epoch)
			}
			if got, want := restartCount.ReplaceAllString(describePod(pod), ""), "Running, ready, a: runs, b: runs"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			pod.Status, pod.DeletionTimestamp = st, &metav1.Time{Time: epoch}
			if st, _ := podStatus(pod, testPlacement, epoch); st.Phase != corev1.PodFailed {
				t.Errorf("deleted: %s", st.Phase)
			}
		})
	}
}

var restartCount = regexp.MustCompile(` #\d+`)
