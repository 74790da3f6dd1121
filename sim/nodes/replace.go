package nodes

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	kubeletutil "k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

// restartsToResize reports whether a running container has to restart to get the resources
// that its spec, or that of its Pod, asks for now. had are those that the Pod as a whole has. The
// kubelet's function needs its runtime.
func restartsToResize(pod *corev1.Pod, c *corev1.Container, s corev1.ContainerStatus, had *corev1.ResourceRequirements) bool {
	if s.State.Running == nil || s.Resources == nil || len(c.ResizePolicy) == 0 {
		return false
	}
	wants := kubeletutil.GetLimits(&kubeletutil.ResourceOpts{PodResources: pod.Spec.Resources, ContainerResources: &c.Resources})
	has := kubeletutil.GetLimits(&kubeletutil.ResourceOpts{PodResources: had, ContainerResources: s.Resources})
	return slices.ContainsFunc(c.ResizePolicy, func(p corev1.ContainerResizePolicy) bool {
		return p.RestartPolicy == corev1.RestartContainer &&
			(differs(c.Resources.Requests, s.Resources.Requests, p.ResourceName) || differs(wants, has, p.ResourceName))
	})
}

// podResources returns the resources that a Pod as a whole has, nil if it has none. Once the containers
// that restart for a resize stop, the Pod has those of its spec: the status says so only after that.
func podResources(pod *corev1.Pod, resizedBy int64) *corev1.ResourceRequirements {
	if pod.Spec.Resources == nil || pod.Status.Resources == nil {
		return pod.Spec.Resources
	}
	_, c := podutil.GetPodCondition(&pod.Status, corev1.PodResizeInProgress)
	if c != nil && (resizedBy == 0 || c.ObservedGeneration == resizedBy) {
		return pod.Spec.Resources
	}
	had := pod.Status.Resources.DeepCopy()
	maps.DeleteFunc(had.Limits, func(name corev1.ResourceName, _ resource.Quantity) bool { // the sum of its containers
		_, ofPod := pod.Spec.Resources.Limits[name]
		return !ofPod
	})
	return had
}

func differs(a, b corev1.ResourceList, name corev1.ResourceName) bool {
	return a.Name(name, "").Cmp(*b.Name(name, "")) != 0
}

// restartsForImage reports whether a running container has to restart because its spec has
// another image now. Other changes of a spec do not restart a container, and init containers
// are to complete. As with a kubelet, a sidecar restarts only once its startup probe has
// succeeded.
func restartsForImage(c *corev1.Container, kind containerKind, s corev1.ContainerStatus) bool {
	replaceable := kind == mainContainer || kind == sidecar && ptr.Deref(s.Started, false)
	return replaceable && s.State.Running != nil && s.Image != "" && s.Image != c.Image
}

// replace stops a running container, and starts it again once it has ended. As with a
// kubelet, neither its restart policy nor a backoff matters.
func (r *containerRun) replace(s corev1.ContainerStatus, command container.State, decides bool, why container.Replacement) corev1.ContainerStatus {
	if r.commands.mayStart {
		r.commands.runtime.Replace(r.pod, r.container.Name, s.RestartCount, why)
	}
	end := container.State{ExitCode: sigtermExitCode, FinishedAt: r.now}
	switch {
	case !decides:
	case command.Phase < container.Ended:
		r.replacing, r.resizing = true, why == container.ReplacedForResources
		return s
	default:
		end = command
		if end.FinishedAt.After(r.now) { // between the start of this step and its observation
			end.FinishedAt = r.now
		}
	}
	restarts := s.RestartCount
	if s.LastTerminationState.Terminated == nil {
		restarts++ // upstream's backoff begins with a restart that finds an older exit
	}
	r.backoffs.setKey(r.container, restarts)
	r.backoffs.reset(r.container.Name, restarts)
	return r.restartStopped(terminatedStatus(r.pod, s, r.kind, end))
}

// restartStopped restarts a container that was stopped for that. Its end is never its state:
// the restart policy would decide.
func (r *containerRun) restartStopped(s corev1.ContainerStatus) corev1.ContainerStatus {
	last := s.State.Terminated
	s.State, s.Ready = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waitingReason(r.pod)}}, false
	return r.restartContainer(s, last)
}
