package nodes

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

// commandRunner runs the commands of containers. Its zero value runs none.
type commandRunner struct {
	runtime  *container.Runtime
	notRun   *NotRun
	mayStart bool // starts and stops what is due; if not, it only observes
}

// stopCommands stops the commands of a Pod, and reports whether some still run. As with a
// kubelet, the Pod has not failed before they have ended.
func (c commandRunner) stopCommands(pod *corev1.Pod, until time.Time) (stillRunning bool) {
	switch {
	case c.runtime == nil:
		return false
	case c.mayStart:
		return !c.runtime.StopPod(pod, until.Add(-stopSlack)).IsZero()
	}
	return c.runtime.Runs(pod.UID)
}

// hasStarted reports whether a container has started, or its first run is being prepared.
func (c commandRunner) hasStarted(pod *corev1.Pod, s corev1.ContainerStatus) bool {
	if c.runtime == nil || hasStarted(s) {
		return true
	}
	_, known := c.runtime.State(pod.UID, s.Name, s.RestartCount)
	return known
}

// commandOf returns the command of a run of a container; nil if the annotations of the
// Pod say how the run ends, or if only the image says what it starts.
func (b podBehavior) commandOf(c *corev1.Container, kind containerKind, run int32) []string {
	if b.isAnnotated(c, kind, run) {
		return nil
	}
	if script := b.scriptOf(c, kind); script != "" {
		return []string{"sh", "-c", script}
	}
	switch {
	case len(c.Command) > 0:
		return slices.Concat(c.Command, c.Args)
	case len(c.Args) > 0 && container.CanRun(c, c.Args):
		return c.Args // as in an image without an entry point
	case len(c.Args) == 0 && c.Stdin:
		return []string{"sh"}
	}
	return nil
}

// firstCommands returns a function that returns the command of the first run of a container of a Pod.
func (b podBehavior) firstCommands(inits []corev1.Container) func(*corev1.Container) []string {
	return func(c *corev1.Container) []string {
		kind := mainContainer
		if slices.ContainsFunc(inits, func(i corev1.Container) bool { return i.Name == c.Name }) {
			kind = initContainerKind(c)
		}
		return b.commandOf(c, kind, 0)
	}
}

// startIfDue starts a run if that is due, and returns its state; false if only
// the annotations of the Pod and its owner decide what becomes of the run.
func (r *containerRun) startIfDue(number int32) (container.State, bool) {
	runtime := r.commands.runtime
	if runtime == nil {
		return container.State{}, false
	}
	state, known := runtime.State(r.pod.UID, r.container.Name, number)
	if known && state.Phase != container.Blocked {
		return state, true
	}
	args := r.behavior.commandOf(r.container, r.kind, number)
	serves, delay := r.serves(args, number), r.stopDelay(number)
	if !known && !serves && !container.CanRun(r.container, args) && !container.MayRun(r.container, args) && !container.NeedsPreparation(r.pod, r.container) && delay == 0 {
		return state, false
	}
	if !r.commands.mayStart {
		return state, true
	}
	pod := r.pod
	if pod.Status.PodIP != r.status.PodIP || pod.Status.HostIP != r.status.HostIP {
		copied := *pod
		copied.Status = *r.status
		pod = &copied
	}
	return runtime.Run(container.Spec{
		Pod: pod, Container: r.container, Number: number, Args: args, Sidecar: r.kind == sidecar, Serves: serves, StopDelay: delay,
		CommandOf: r.behavior.firstCommands(pod.Spec.InitContainers),
	}), true
}

// serves reports whether a run without a command is a server whose probes are made.
func (r *containerRun) serves(args []string, number int32) bool {
	if r.kind == initContainer || r.kind == ephemeralContainer || container.CanRun(r.container, args) {
		return false
	}
	_, _, ends := r.behavior.nextExit(r.container, r.kind, number)
	return !ends && container.DecidesWithoutCommand(r.pod, r.container)
}

// stopDelay returns how long the preStop hook of a run sleeps that ends only when its Pod stops.
func (r *containerRun) stopDelay(number int32) time.Duration {
	delay := container.StopDelay(r.container)
	if delay == 0 {
		return 0 // as of nearly all
	}
	if _, _, ends := r.behavior.nextExit(r.container, r.kind, number); ends {
		return 0
	}
	return delay
}

// waitForStart returns the status of a container whose run is being prepared.
func (r *containerRun) waitForStart(s corev1.ContainerStatus, command container.State) corev1.ContainerStatus {
	r.unmounted = !command.Mounted
	r.inHook = command.InHook && command.Phase == container.Preparing
	switch {
	case command.Phase == container.Blocked && command.Mounted:
		s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: command.Reason, Message: command.Message}}
	case command.Phase != container.Blocked && (s.State.Terminated != nil || s.LastTerminationState.Terminated != nil):
		return s // what it was before its restart
	default:
		s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waitingReason(r.pod)}}
	}
	s.Ready, s.Started = false, new(false)
	return s
}

// waitingReason returns why the containers of a Pod have not started yet.
func waitingReason(pod *corev1.Pod) string {
	if len(pod.Spec.InitContainers) > 0 {
		return "PodInitializing"
	}
	return "ContainerCreating"
}

// followCommand returns the status of a running container with a command.
func (r *containerRun) followCommand(s corev1.ContainerStatus, command container.State) corev1.ContainerStatus {
	switch command.Phase {
	case container.Blocked:
		if !command.Temporary {
			return r.waitForStart(lostStatus(s), command)
		}
	case container.Running:
		s.Started = new(command.Started)
		s.Ready = r.isReady(s.State.Running.StartedAt.Time) && command.Ready
	case container.Ended:
		s = terminatedStatus(r.pod, s, r.kind, command)
		restarts := shouldRestart(r.pod, r.container, r.kind, command.ExitCode)
		if command.Unhealthy && !restarts {
			return r.restartStopped(s)
		}
		if command.HookError != "" && restarts {
			return failedHookStatus(s, command.HookError)
		}
	}
	return s
}

// reasonPostStartHookError is kuberuntime.ErrPostStartHook.
const reasonPostStartHookError = "PostStartHookError"

// failedHookStatus returns the status of a container that was stopped because its postStart hook has failed. As with a
// kubelet, it tells so until the container is started again, or is to wait for that.
func failedHookStatus(s corev1.ContainerStatus, message string) corev1.ContainerStatus {
	s.LastTerminationState = s.State
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reasonPostStartHookError, Message: message}}
	return s
}

// lostStatus returns the status of a container that ran in a simulation that has ended, and cannot start again in this
// one yet. The reason and the message are those of a kubelet whose container runtime does not know the container. Unlike
// there, the container starts again without another number, as it does if nothing is missing, and an earlier end is
// replaced: it is what tells that the container is lost.
func lostStatus(s corev1.ContainerStatus) corev1.ContainerStatus {
	s.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: kubecontainer.ContainerReasonStatusUnknown, ExitCode: sigkillExitCode,
		Message: "The container could not be located when the pod was deleted.  The container used to be Running",
	}}
	return s
}

// isLost reports whether a container has lostStatus and has not started again.
func isLost(s corev1.ContainerStatus) bool {
	last := s.LastTerminationState.Terminated
	return s.State.Waiting != nil && last != nil && last.Reason == kubecontainer.ContainerReasonStatusUnknown
}
