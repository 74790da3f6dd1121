package nodes

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	kubelettypes "k8s.io/kubernetes/pkg/kubelet/types"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

// placement is what a Pod gets from its node.
type placement struct {
	hostIPs, podIPs []netip.Addr
	rejected        *rejection // why the node rejects the Pod; nil if it does not
	resizeRejected  *rejection // why a resize of the Pod is deferred; nil if it is not
	resizedBy       int64      // the generation of the resize on its way; 0 if not known
	sandboxError    string     // why the Pod cannot start yet; empty if it can
	commands        commandRunner
	backoffs        *restartBackoffs
}

// podStatus returns the status that a kubelet would report now, and when it changes
// without a trigger; zero means never.
func podStatus(pod *corev1.Pod, at placement, now time.Time) (corev1.PodStatus, time.Time) {
	st := *pod.Status.DeepCopy()
	if podutil.IsPodTerminal(pod) && !mustTerminate(&st) {
		return st, time.Time{}
	}
	st.ObservedGeneration = pod.Generation
	if podutil.IsPodTerminal(pod) { // another client has set the phase
		if !at.commands.stopCommands(pod, stopDeadline(pod, now)) {
			terminateAll(pod, &st, at.commands, now, sigtermExitCode)
		}
		setConditions(pod, &st, now)
		return st, time.Time{}
	}
	if pod.DeletionTimestamp != nil {
		if stop := stopPod(pod, at.commands, now); now.Before(stop) {
			return terminatingStatus(pod, at.commands, now), stop
		}
		endPod(pod, &st, at.commands, now)
		return st, time.Time{}
	}
	if st.StartTime == nil {
		st.StartTime = new(metav1.NewTime(now))
		if at.rejected != nil {
			rejectPod(&st, at.rejected)
			return st, time.Time{}
		}
	}
	deadline := activeDeadline(pod, &st)
	if exceedsDeadline(pod, &st, now) {
		if until := stopDeadline(pod, deadline); now.Before(until) && at.commands.stopCommands(pod, until) {
			setFailingConditions(pod, &st, now)
			return st, until
		}
		endPod(pod, &st, at.commands, now)
		return st, time.Time{}
	}
	setAddresses(&st, at)
	if at.sandboxError != "" && st.Phase != corev1.PodRunning {
		awaitSandbox(pod, &st, now)
		return st, earlierTime(now.Add(sandboxRetryInterval), deadline)
	}
	if restartsAll(pod, &st) {
		restartAll(pod, &st, at.commands, now)
		return st, time.Time{}
	}
	wake, resizing := advanceContainers(pod, &st, at, now)
	setConditions(pod, &st, now)
	setResizeConditions(pod, &st, at, resizing, now)
	switch {
	case at.resizeRejected != nil:
		wake = earlierTime(wake, now.Add(resizeRetryInterval))
	case !resizing:
		setPodResources(pod, &st)
	}
	if podutil.IsPodPhaseTerminal(st.Phase) {
		return st, time.Time{}
	}
	return st, earlierTime(wake, deadline)
}

const (
	reasonDeadlineExceeded  = "DeadlineExceeded"
	messageDeadlineExceeded = "Pod was active on the node longer than the specified deadline"
)

// activeDeadline returns when a Pod has been active for as long as its spec allows; zero means never.
func activeDeadline(pod *corev1.Pod, st *corev1.PodStatus) time.Time {
	if pod.Spec.ActiveDeadlineSeconds == nil || st.StartTime == nil {
		return time.Time{}
	}
	return st.StartTime.Add(time.Duration(*pod.Spec.ActiveDeadlineSeconds) * time.Second)
}

// exceedsDeadline reports whether a Pod has been active for longer than its spec allows.
func exceedsDeadline(pod *corev1.Pod, st *corev1.PodStatus, now time.Time) bool {
	deadline := activeDeadline(pod, st)
	return !deadline.IsZero() && !now.Before(deadline)
}

func setAddresses(st *corev1.PodStatus, at placement) {
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

// withholdAddresses removes the addresses of a Pod whose volumes are not mounted: as with a kubelet, its sandbox
// is created after that. One that exists already stays.
func withholdAddresses(pod *corev1.Pod, st *corev1.PodStatus) {
	if pod.Status.PodIP != "" || pod.Spec.HostNetwork || slices.ContainsFunc(st.InitContainerStatuses, hasStarted) || slices.ContainsFunc(st.ContainerStatuses, hasStarted) {
		return
	}
	st.PodIP, st.PodIPs = "", nil
}

// awaitSandbox makes the containers of a Pod wait until its sandbox, which has its address and its host
// name, can be created.
func awaitSandbox(pod *corev1.Pod, st *corev1.PodStatus, now time.Time) {
	wait := func(list []corev1.Container, was []corev1.ContainerStatus) (statuses []corev1.ContainerStatus) {
		for i := range list {
			statuses = append(statuses, waitingStatus(&list[i], was, waitingReason(pod)))
		}
		return statuses
	}
	st.InitContainerStatuses = wait(pod.Spec.InitContainers, st.InitContainerStatuses)
	st.ContainerStatuses = wait(pod.Spec.Containers, st.ContainerStatuses)
	setConditions(pod, st, now)
}

// advanceContainers computes the status of each container and the phase that follows.
// resizing means that a container stops, to restart with other resources.
func advanceContainers(pod *corev1.Pod, st *corev1.PodStatus, at placement, now time.Time) (wake time.Time, resizing bool) {
	behavior, _ := podBehaviorOf(pod) // updatePod has reported the error
	unmounted, inHook := false, false
	resources := podResources(pod, at.resizedBy)
	advance := func(c *corev1.Container, kind containerKind, was []corev1.ContainerStatus) corev1.ContainerStatus {
		r := containerRun{pod: pod, container: c, kind: kind, behavior: behavior, commands: at.commands, status: st, backoffs: at.backoffs, resized: at.resizeRejected == nil, resources: resources, now: now}
		s := r.advanceStatus(containerStatusOf(was, c.Name))
		wake, resizing, unmounted = earlierTime(wake, r.wake), resizing || r.resizing, unmounted || r.unmounted
		inHook = inHook || r.inHook && kind == mainContainer
		return s
	}
	over := isOver(pod, st)
	initialized := true
	var inits, mains, extras []corev1.ContainerStatus
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if !initialized {
			inits = append(inits, waitingStatus(c, st.InitContainerStatuses, "PodInitializing"))
			continue
		}
		kind := initContainerKind(c)
		s := containerStatusOf(st.InitContainerStatuses, c.Name)
		if s.State.Running != nil || !over || kind != sidecar { // sidecars do not restart while the Pod stops
			s = advance(c, kind, st.InitContainerStatuses)
		}
		inits = append(inits, s)
		if initialized = hasSucceeded(s); kind == sidecar { // one that has ended restarts first
			initialized = isUp(s) || hasStartedAfter(st, i)
		}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		switch {
		case !initialized:
			mains = append(mains, waitingStatus(c, st.ContainerStatuses, "PodInitializing"))
		case inHook && !at.commands.hasStarted(pod, containerStatusOf(st.ContainerStatuses, c.Name)): // it starts after the hook
			mains = append(mains, waitingStatus(c, st.ContainerStatuses, waitingReason(pod)))
		default:
			mains = append(mains, advance(c, mainContainer, st.ContainerStatuses))
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		c := corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		r := containerRun{pod: pod, container: &c, kind: ephemeralContainer, commands: at.commands, status: st, resized: true, now: now}
		s := r.advanceStatus(containerStatusOf(st.EphemeralContainerStatuses, c.Name))
		s.Ready, s.Started = false, nil // ephemeral containers have no probes
		extras = append(extras, s)
	}
	st.InitContainerStatuses, st.ContainerStatuses, st.EphemeralContainerStatuses = inits, mains, extras
	if unmounted {
		withholdAddresses(pod, st)
	}
	if st.Phase = podPhase(pod, st); podutil.IsPodPhaseTerminal(st.Phase) {
		if at.commands.stopCommands(pod, stopDeadline(pod, now)) {
			st.Phase = cmp.Or(pod.Status.Phase, corev1.PodPending)
			return wake, false
		}
		terminateAll(pod, st, at.commands, now, 0) // sidecars stop after the main containers
	}
	return wake, resizing
}

// isOver reports whether no container of a Pod is to run any more.
func isOver(pod *corev1.Pod, st *corev1.PodStatus) bool {
	return podutil.IsPodPhaseTerminal(podPhase(pod, st))
}

// isUp reports whether a sidecar runs and its startup probe has succeeded.
func isUp(s corev1.ContainerStatus) bool {
	return s.State.Running != nil && ptr.Deref(s.Started, false)
}

// hasStartedAfter reports whether a container has started that comes after an init
// container: as with a kubelet, the restart of a sidecar does not stop what follows.
func hasStartedAfter(st *corev1.PodStatus, i int) bool {
	return i+1 < len(st.InitContainerStatuses) && slices.ContainsFunc(st.InitContainerStatuses[i+1:], hasStarted) ||
		slices.ContainsFunc(st.ContainerStatuses, hasStarted)
}

func containerStatusOf(list []corev1.ContainerStatus, name string) corev1.ContainerStatus {
	if i := slices.IndexFunc(list, func(s corev1.ContainerStatus) bool { return s.Name == name }); i >= 0 {
		return list[i]
	}
	return corev1.ContainerStatus{Name: name}
}

// waitingStatus returns the status of a container that must not start yet.
func waitingStatus(c *corev1.Container, was []corev1.ContainerStatus, reason string) corev1.ContainerStatus {
	s := containerStatusOf(was, c.Name)
	if s.State.Running == nil && s.State.Terminated == nil {
		started := false
		s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
		s.Image, s.Started, s.VolumeMounts = c.Image, &started, volumeMountStatuses(c)
	}
	return s
}

func hasSucceeded(s corev1.ContainerStatus) bool {
	return s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
}

// podPhase returns the phase that follows from the statuses of the containers. Any client may
// have written these: some may be missing, and others be of containers that do not exist.
func podPhase(pod *corev1.Pod, st *corev1.PodStatus) corev1.PodPhase {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		s := containerStatusOf(st.InitContainerStatuses, c.Name)
		end := cmp.Or(s.State.Terminated, s.LastTerminationState.Terminated)
		switch kind := initContainerKind(c); {
		case s.State.Running != nil && kind == sidecar:
			if !isUp(s) && !slices.ContainsFunc(st.ContainerStatuses, hasStarted) {
				return corev1.PodPending
			}
		case s.State.Running != nil, end == nil:
			return corev1.PodPending
		case kind == sidecar, end.ExitCode == 0, end.Reason == reasonRestartingAll, isLost(s), shouldRestart(pod, c, kind, end.ExitCode):
			// The main containers decide: they wait, unless they ran before all of the Pod restarted.
		default:
			return corev1.PodFailed
		}
	}
	result := corev1.PodSucceeded
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		s := containerStatusOf(st.ContainerStatuses, c.Name)
		switch end := s.State.Terminated; {
		case s.State.Running == nil && end == nil && s.LastTerminationState.Terminated == nil:
			return corev1.PodPending
		case end == nil || shouldRestart(pod, c, mainContainer, end.ExitCode):
			result = corev1.PodRunning
		case result == corev1.PodRunning:
		case end.ExitCode != 0:
			result = corev1.PodFailed
		}
	}
	return result
}

// endPod ends a Pod that was deleted or exceeded its deadline.
func endPod(pod *corev1.Pod, st *corev1.PodStatus, commands commandRunner, now time.Time) {
	terminateAll(pod, st, commands, now, sigtermExitCode)
	st.Phase, st.Reason, st.Message = corev1.PodFailed, "", ""
	switch {
	case exceedsDeadline(pod, st, now):
		st.Reason, st.Message = reasonDeadlineExceeded, messageDeadlineExceeded
	case allSucceeded(st.ContainerStatuses):
		st.Phase = corev1.PodSucceeded
	}
	setConditions(pod, st, now)
}

// rejectPod ends a Pod that its node rejects: as with a kubelet, it has none of a kubelet's
// conditions.
func rejectPod(st *corev1.PodStatus, why *rejection) {
	st.Phase, st.Reason, st.Message = corev1.PodFailed, why.reason, "Pod was rejected: "+why.message
	st.Conditions = slices.DeleteFunc(st.Conditions, func(c corev1.PodCondition) bool { return kubelettypes.PodConditionByKubelet(c.Type) })
}

// stopDeadline returns until when the commands of a Pod that stops may take to end.
func stopDeadline(pod *corev1.Pod, asked time.Time) time.Time {
	grace := ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	return asked.Add(container.Seconds(grace)).Add(stopSlack)
}

// allSucceeded reports whether all of at least one container have exited with 0.
func allSucceeded(list []corev1.ContainerStatus) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(s corev1.ContainerStatus) bool { return !hasSucceeded(s) })
}
