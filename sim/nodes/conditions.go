package nodes

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	kubelettypes "k8s.io/kubernetes/pkg/kubelet/types"
	"k8s.io/utils/ptr"
)

// setConditions sets the conditions that kubelets own.
func setConditions(pod *corev1.Pod, st *corev1.PodStatus, now time.Time) {
	set := func(kind corev1.PodConditionType, holds bool, reason, message string) {
		c := corev1.PodCondition{
			Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message,
			ObservedGeneration: pod.Generation, LastTransitionTime: metav1.NewTime(now),
		}
		if holds {
			c.Status = corev1.ConditionTrue
		}
		i := slices.IndexFunc(st.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
		if i < 0 {
			st.Conditions = append(st.Conditions, c)
			return
		}
		if was := st.Conditions[i]; was.Status == c.Status {
			c.LastTransitionTime = was.LastTransitionTime
		}
		st.Conditions[i] = c
	}
	initReason, initMessage := notInitializedReason(pod, st)
	containersReason, containersMessage := notReadyReason(pod, st)
	reason, message := readinessGatesReason(pod, st)
	if containersReason != "" {
		reason, message = containersReason, containersMessage
	}
	switch {
	case st.Phase == corev1.PodSucceeded || st.Phase == corev1.PodFailed:
		set(corev1.PodReadyToStartContainers, false, kubelettypes.PodSandboxNotReadyReason, kubelettypes.PodSandboxNotReadyMsgSandboxNotReady)
	case st.PodIP == "":
		set(corev1.PodReadyToStartContainers, false, kubelettypes.PodSandboxNotReadyReason, kubelettypes.PodSandboxNotReadyMsgNoPodSandbox)
	default:
		set(corev1.PodReadyToStartContainers, true, "", "")
	}
	set(corev1.PodInitialized, initReason == "" || initReason == reasonPodCompleted, initReason, initMessage)
	set(corev1.PodReady, reason == "", reason, message)
	set(corev1.ContainersReady, containersReason == "", containersReason, containersMessage)
	if podutil.AllContainersCouldRestart(&pod.Spec) {
		holds, reason, message := restartingAllReason(pod, st)
		set(corev1.AllContainersRestarting, holds, reason, message)
	}
	set(corev1.PodScheduled, true, "", "")
}

const (
	reasonPodCompleted = "PodCompleted"
	reasonPodFailed    = "PodFailed"
)

// notInitializedReason returns why a Pod is not initialized; an empty reason means
// that it is.
func notInitializedReason(pod *corev1.Pod, st *corev1.PodStatus) (reason, message string) {
	var names []string
	for _, s := range st.InitContainerStatuses {
		isSidecar := hasSidecar(pod, s.Name)
		if isSidecar && !ptr.Deref(s.Started, false) || !isSidecar && !hasSucceeded(s) {
			names = append(names, s.Name)
		}
	}
	switch {
	case st.Phase == corev1.PodSucceeded:
		return reasonPodCompleted, ""
	case slices.ContainsFunc(st.ContainerStatuses, hasStarted), wasInitialized(st):
		return "", "" // even if a sidecar or all containers restart
	case len(names) > 0:
		return "ContainersNotInitialized", "containers with incomplete status: [" + strings.Join(names, " ") + "]"
	}
	return "", ""
}

func wasInitialized(st *corev1.PodStatus) bool {
	return slices.ContainsFunc(st.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodInitialized && c.Status == corev1.ConditionTrue
	})
}

// hasStarted reports whether a container has started, since all of its Pod began.
func hasStarted(s corev1.ContainerStatus) bool {
	return s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil && !isRemovedForRestart(s)
}

// notReadyReason returns why the containers of a Pod are not ready; an empty reason
// means that they are.
func notReadyReason(pod *corev1.Pod, st *corev1.PodStatus) (reason, message string) {
	var names []string
	for _, s := range st.InitContainerStatuses {
		if !s.Ready && hasSidecar(pod, s.Name) {
			names = append(names, s.Name)
		}
	}
	for _, s := range st.ContainerStatuses {
		if !s.Ready {
			names = append(names, s.Name)
		}
	}
	switch {
	case st.Phase == corev1.PodSucceeded:
		return reasonPodCompleted, ""
	case st.Phase == corev1.PodFailed:
		return reasonPodFailed, ""
	case len(names) > 0 || len(st.ContainerStatuses) == 0:
		return "ContainersNotReady", "containers with unready status: [" + strings.Join(names, " ") + "]"
	}
	return "", ""
}

// hasSidecar reports whether a Pod has a sidecar of that name.
func hasSidecar(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == name && initContainerKind(&c) == sidecar })
}

// readinessGatesReason returns which readiness gates keep a Pod from being ready.
// Other clients set their conditions.
func readinessGatesReason(pod *corev1.Pod, st *corev1.PodStatus) (reason, message string) {
	var messages []string
	for _, gate := range pod.Spec.ReadinessGates {
		i := slices.IndexFunc(st.Conditions, func(c corev1.PodCondition) bool { return c.Type == gate.ConditionType })
		switch {
		case i < 0:
			messages = append(messages, `corresponding condition of pod readiness gate "`+string(gate.ConditionType)+`" does not exist.`)
		case st.Conditions[i].Status != corev1.ConditionTrue:
			messages = append(messages, `the status of pod readiness gate "`+string(gate.ConditionType)+`" is not "True", but `+string(st.Conditions[i].Status))
		}
	}
	if messages == nil {
		return "", ""
	}
	return "ReadinessGatesNotReady", strings.Join(messages, ", ")
}
