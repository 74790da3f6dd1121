package nodes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestContainerThatWaitsBesideASidecar deletes a Pod with a container that has not started although its
// sidecar has: a kubelet looks at the status before the containers are stopped.
func TestContainerThatWaitsBesideASidecar(t *testing.T) {
	pod := deletedPod(testPod(func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}}
		p.Spec.Containers = []corev1.Container{{Name: "a"}}
		p.Status.StartTime = &metav1.Time{Time: epoch}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "s", Started: ptr.To(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}
	}))
	pod.Status, _ = podStatus(pod, testPlacement, epoch.Add(time.Minute))
	if got := describePod(pod); got != "Failed, s: exit 143, a: exit 137" {
		t.Errorf("got %q", got)
	}
}

// TestContainersThatNeverStarted ends Pods some of whose containers have not started: those that
// were to start count as failed.
func TestContainersThatNeverStarted(t *testing.T) {
	waits := func(name string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}
	}
	completed := func(name string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
	}
	for name, c := range map[string]struct {
		inits, mains []corev1.ContainerStatus
		want         string
	}{
		"no init container":        {nil, []corev1.ContainerStatus{waits("a")}, "a: exit 137"},
		"one of two":               {nil, []corev1.ContainerStatus{completed("a"), waits("b")}, "a: exit 0, b: exit 137"},
		"the first init container": {[]corev1.ContainerStatus{waits("i"), waits("j")}, []corev1.ContainerStatus{waits("a")}, "i: exit 137, j: ContainerCreating, a: ContainerCreating"},
		"another init container":   {[]corev1.ContainerStatus{completed("i"), waits("j")}, []corev1.ContainerStatus{waits("a")}, "i: exit 0, j: ContainerCreating, a: ContainerCreating"},
		"after init containers":    {[]corev1.ContainerStatus{completed("i"), completed("j")}, []corev1.ContainerStatus{waits("a")}, "i: exit 0, j: exit 0, a: exit 137"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := testPod(func(p *corev1.Pod) {
				p.Spec.Containers, p.Spec.ActiveDeadlineSeconds = nil, ptr.To[int64](1)
				p.Status.StartTime = &metav1.Time{Time: epoch}
				p.Status.InitContainerStatuses, p.Status.ContainerStatuses = c.inits, c.mains
				for _, s := range c.inits {
					p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: s.Name})
				}
				for _, s := range c.mains {
					p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: s.Name})
				}
			})
			deleted := deletedPod(pod)
			deleted.Spec.ActiveDeadlineSeconds = nil
			for _, end := range []struct {
				pod  *corev1.Pod
				want string
			}{{pod, "Failed, DeadlineExceeded, " + c.want}, {deleted, "Failed, " + c.want}} {
				ended := end.pod.DeepCopy()
				ended.Status, _ = podStatus(ended, testPlacement, epoch.Add(time.Minute))
				if got := describePod(ended); got != end.want {
					t.Errorf("got %q, want %q", got, end.want)
				}
			}
		})
	}
}
