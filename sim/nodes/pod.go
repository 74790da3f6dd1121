package nodes

import (
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// place is where a pod runs.
type place struct {
	hostIPs, podIPs []netip.Addr
	rejected        *rejection // why it does not run there; nil = it does
	resize          *rejection // why it does not get what it asks for by now; nil = it has it
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// podStatus is the status that a kubelet would report of a pod now, and when it
// changes by itself; zero = never.
func podStatus(pod *corev1.Pod, at place, now time.Time) (corev1.PodStatus, time.Time) {
	st := *pod.Status.DeepCopy()
	if finished(pod) {
		return st, time.Time{}
	}
	st.ObservedGeneration = pod.Generation
	if pod.DeletionTimestamp != nil {
		fail(pod, &st, now, "", "")
		return st, time.Time{}
	}
	if st.StartTime == nil {
		if at.rejected != nil {
			fail(pod, &st, now, at.rejected.reason, "Pod was rejected: "+at.rejected.message)
			return st, time.Time{}
		}
		start := metav1.NewTime(now)
		st.StartTime = &start
	}
	setAddresses(&st, at)
	deadline := time.Time{}
	if s := pod.Spec.ActiveDeadlineSeconds; s != nil {
		deadline = st.StartTime.Add(time.Duration(*s) * time.Second)
		if !now.Before(deadline) {
			fail(pod, &st, now, "DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
			return st, time.Time{}
		}
	}
	wake := runContainers(pod, &st, at, now)
	setConditions(pod, &st, now)
	if setResize(pod, &st, at.resize, now); at.resize != nil {
		wake = sooner(wake, now.Add(resizeRetry))
	}
	if st.Phase == corev1.PodSucceeded || st.Phase == corev1.PodFailed {
		return st, time.Time{}
	}
	return st, sooner(wake, deadline)
}

func setAddresses(st *corev1.PodStatus, at place) {
	if len(at.hostIPs) > 0 {
		st.HostIP, st.HostIPs = at.hostIPs[0].String(), nil
		for _, ip := range at.hostIPs {
			st.HostIPs = append(st.HostIPs, corev1.HostIP{IP: ip.String()})
		}
	}
	if len(at.podIPs) > 0 && st.PodIP == "" {
		st.PodIP = at.podIPs[0].String()
		for _, ip := range at.podIPs {
			st.PodIPs = append(st.PodIPs, corev1.PodIP{IP: ip.String()})
		}
	}
}

// runContainers moves the containers on and sets the phase that follows.
func runContainers(pod *corev1.Pod, st *corev1.PodStatus, at place, now time.Time) (wake time.Time) {
	behaviour, _ := behaviourOf(pod) // what is wrong has been told when the pod was first seen
	advance := func(c *corev1.Container, kind containerKind, was []corev1.ContainerStatus) corev1.ContainerStatus {
		r := run{pod: pod, container: c, kind: kind, behaviour: behaviour, resizes: at.resize == nil, now: now}
		s := r.advance(statusOf(was, c.Name))
		wake = sooner(wake, r.wake)
		return s
	}
	initialized := true
	var inits, mains, extras []corev1.ContainerStatus
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if !initialized {
			inits = append(inits, waiting(c, st.InitContainerStatuses, "PodInitializing"))
			continue
		}
		s := advance(c, initKind(c), st.InitContainerStatuses)
		inits = append(inits, s)
		started := s.State.Running != nil || s.LastTerminationState.Terminated != nil
		initialized = initKind(c) == sidecar && started || succeeded(s)
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if initialized {
			mains = append(mains, advance(c, mainContainer, st.ContainerStatuses))
		} else {
			mains = append(mains, waiting(c, st.ContainerStatuses, "PodInitializing"))
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		c := corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		s := (&run{pod: pod, container: &c, resizes: true, now: now}).advance(statusOf(st.EphemeralContainerStatuses, c.Name))
		s.Ready, s.Started = false, nil // it has no probes
		extras = append(extras, s)
	}
	st.InitContainerStatuses, st.ContainerStatuses, st.EphemeralContainerStatuses = inits, mains, extras
	if st.Phase = phase(pod, st); st.Phase == corev1.PodSucceeded || st.Phase == corev1.PodFailed {
		endAll(st, now, 0) // the sidecars, after the main containers
	}
	return wake
}

func statusOf(list []corev1.ContainerStatus, name string) corev1.ContainerStatus {
	if i := slices.IndexFunc(list, func(s corev1.ContainerStatus) bool { return s.Name == name }); i >= 0 {
		return list[i]
	}
	return corev1.ContainerStatus{Name: name}
}

// waiting is the status of a container that must not run yet.
func waiting(c *corev1.Container, was []corev1.ContainerStatus, reason string) corev1.ContainerStatus {
	s := statusOf(was, c.Name)
	if s.State.Running == nil && s.State.Terminated == nil {
		started := false
		s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
		s.Image, s.Started = c.Image, &started
	}
	return s
}

func succeeded(s corev1.ContainerStatus) bool {
	return s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
}

// phase is what the containers make of the pod.
func phase(pod *corev1.Pod, st *corev1.PodStatus) corev1.PodPhase {
	for i, s := range st.InitContainerStatuses {
		kind := initKind(&pod.Spec.InitContainers[i])
		switch {
		case kind == sidecar && s.State.Running != nil, succeeded(s):
		case kind == sidecar && s.LastTerminationState.Terminated != nil: // restarts; the pod is past it
		case s.State.Terminated != nil && !restarts(pod, kind, s.State.Terminated.ExitCode):
			return corev1.PodFailed
		default:
			return corev1.PodPending
		}
	}
	result := corev1.PodSucceeded
	for _, s := range st.ContainerStatuses {
		switch end := s.State.Terminated; {
		case end == nil || restarts(pod, mainContainer, end.ExitCode):
			return corev1.PodRunning
		case end.ExitCode != 0:
			result = corev1.PodFailed
		}
	}
	return result
}

// fail ends the pod from outside: it was rejected, was deleted or took too long.
func fail(pod *corev1.Pod, st *corev1.PodStatus, now time.Time, reason, message string) {
	endAll(st, now, stoppedCode)
	st.Phase, st.Reason, st.Message = corev1.PodFailed, reason, message
	setConditions(pod, st, now)
}

// endAll ends what still runs, and what waits for a restart.
func endAll(st *corev1.PodStatus, now time.Time, code int32) {
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses, st.EphemeralContainerStatuses} {
		for i, s := range list {
			switch {
			case s.State.Running != nil:
				list[i] = ended(s, code, now)
			case s.State.Waiting != nil && s.LastTerminationState.Terminated != nil:
				list[i].State = s.LastTerminationState
			}
		}
	}
}
