package nodes

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

// TestStatusHasMountsAndUser compares with convertToAPIContainerStatuses of a kubelet: a container has its mounts before it
// starts, and its user afterwards.
func TestStatusHasMountsAndUser(t *testing.T) {
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(1000)), RunAsGroup: new(int64(3000)), FSGroup: new(int64(2000)), SupplementalGroups: []int64{4000, 3000}}
		p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "pause"}}
		p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(2))}
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}, {Name: "t", MountPath: "/t", SubPath: "x", ReadOnly: true}}
	})
	timeline(pod, testPlacement, 1)
	mounts := []corev1.VolumeMountStatus{{Name: "v", MountPath: "/v"}, {Name: "t", MountPath: "/t", ReadOnly: true, RecursiveReadOnly: new(corev1.RecursiveReadOnlyDisabled)}}
	if a := pod.Status.ContainerStatuses[0]; a.User != nil || cmp.Diff(mounts, a.VolumeMounts) != "" {
		t.Errorf("before it starts: %+v", a)
	}
	pod.Spec.InitContainers, pod.Status.InitContainerStatuses = nil, nil
	timeline(pod, testPlacement, 1)
	a := pod.Status.ContainerStatuses[0]
	want := &corev1.ContainerUser{Linux: &corev1.LinuxContainerUser{UID: 2, GID: 3000, SupplementalGroups: []int64{3000, 2000, 4000}}}
	if diff := cmp.Diff(want, a.User) + cmp.Diff(mounts, a.VolumeMounts); diff != "" {
		t.Error(diff)
	}
	if user := containerUser(testPod(nil), &corev1.Container{}); cmp.Diff(&corev1.LinuxContainerUser{SupplementalGroups: []int64{0}}, user.Linux) != "" {
		t.Errorf("of root: %+v", user.Linux)
	}
	if user := containerUser(testPod(func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: corev1.Windows} }), &corev1.Container{}); user != nil {
		t.Errorf("of Windows: %+v", user)
	}
}

// TestTerminationMessagesShareALimit compares with normalizeStatus of a kubelet.
func TestTerminationMessagesShareALimit(t *testing.T) {
	for containers, want := range map[int]int{1: 4096, 3: 4096, 6: 2048} {
		pod := testPod(func(p *corev1.Pod) { p.Spec.Containers = make([]corev1.Container, containers) })
		s := terminatedStatus(pod, corev1.ContainerStatus{}, mainContainer, container.State{Message: strings.Repeat("x", 4096), FinishedAt: time.Now()})
		if got := len(s.State.Terminated.Message); got != want {
			t.Errorf("of %d containers: %d bytes, want %d", containers, got, want)
		}
	}
}
