package nodes

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/utils/ptr"
)

// volumeMountStatuses returns the mounts of a container as its status has them, also before it starts. Simulated nodes
// do not support mounts that are read-only recursively.
func volumeMountStatuses(c *corev1.Container) (list []corev1.VolumeMountStatus) {
	for _, m := range c.VolumeMounts {
		s := corev1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			s.RecursiveReadOnly = new(corev1.RecursiveReadOnlyDisabled)
		}
		list = append(list, s)
	}
	return list
}

// containerUser returns the identity of the first process of a container, as a container runtime reports it; nil for
// Windows. Without a securityContext it is that of root: the image is not known.
func containerUser(pod *corev1.Pod, c *corev1.Container) *corev1.ContainerUser {
	if pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows {
		return nil
	}
	of, own := ptr.Deref(pod.Spec.SecurityContext, corev1.PodSecurityContext{}), ptr.Deref(c.SecurityContext, corev1.SecurityContext{})
	id := func(own, of *int64) int64 { return ptr.Deref(own, ptr.Deref(of, 0)) }
	u := corev1.LinuxContainerUser{UID: id(own.RunAsUser, of.RunAsUser), GID: id(own.RunAsGroup, of.RunAsGroup)}
	groups := []int64{u.GID}
	if of.FSGroup != nil {
		groups = append(groups, *of.FSGroup)
	}
	for _, g := range slices.Concat(groups, of.SupplementalGroups) {
		if !slices.Contains(u.SupplementalGroups, g) {
			u.SupplementalGroups = append(u.SupplementalGroups, g)
		}
	}
	return &corev1.ContainerUser{Linux: &u}
}

// terminationMessage returns what the status of a Pod has of the message of a container. As with a kubelet, all
// messages of a Pod share a limit.
func terminationMessage(pod *corev1.Pod, message string) string {
	containers := len(pod.Spec.InitContainers) + len(pod.Spec.Containers) + len(pod.Spec.EphemeralContainers)
	return message[:min(len(message), kubecontainer.MaxPodTerminationMessageLogLength/max(containers, 1))]
}
