package nodes

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/util/format"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

type containerKind int

const (
	mainContainer containerKind = iota
	initContainer
	sidecar // an init container with restartPolicy Always
	ephemeralContainer
)

func initContainerKind(c *corev1.Container) containerKind {
	if podutil.IsRestartableInitContainer(c) {
		return sidecar
	}
	return initContainer
}

const (
	sigtermExitCode = 143 // of a process that does not handle SIGTERM
	sigkillExitCode = 137
)

// containerRun computes the status of one container.
type containerRun struct {
	pod       *corev1.Pod
	container *corev1.Container
	kind      containerKind
	behavior  podBehavior
	commands  commandRunner
	status    *corev1.PodStatus            // of the Pod, with its addresses
	backoffs  *restartBackoffs             // of the Pod
	resized   bool                         // its node has the resources that its spec asks for
	resources *corev1.ResourceRequirements // that the Pod as a whole has
	replacing bool                         // result: it stops, to restart as its spec asks for now
	resizing  bool                         // result: that is for other resources
	unmounted bool                         // result: it waits until the volumes of its Pod are mounted
	inHook    bool                         // result: its postStart hook runs
	now       time.Time
	wake      time.Time // when the status changes next; zero means never
}

// advanceStatus returns the status that follows s. As with a kubelet, a container that has ended when it is first looked
// at was never running.
func (r *containerRun) advanceStatus(s corev1.ContainerStatus) corev1.ContainerStatus {
	switch {
	case s.State.Running != nil:
		s = r.advanceRunning(s)
	case s.State.Terminated != nil:
		s = r.advanceTerminated(s)
	case isRemovedForRestart(s):
		s = r.startRemoved(s)
	case isLost(s):
		s = r.startContainer(s)
	case s.LastTerminationState.Terminated != nil: // waits for its restart
		s = r.restartContainer(s, s.LastTerminationState.Terminated)
	default:
		s = r.startContainer(s)
	}
	return r.syncWithSpec(s)
}

func (r *containerRun) startContainer(s corev1.ContainerStatus) corev1.ContainerStatus {
	command, known := r.startIfDue(s.RestartCount)
	if known && command.Phase < container.Running {
		return r.waitForStart(s, command)
	}
	since := r.now
	if known && command.Decides() {
		since = command.StartedAt
	}
	s = startedStatus(r.pod, r.container, s, since)
	r.commands.notRun.note(r, command.Command, s.RestartCount)
	s.Ready = r.isReady(since)
	if known && command.Decides() {
		return r.followCommand(s, command)
	}
	if after, code, ends := r.behavior.nextExit(r.container, r.kind, s.RestartCount); ends {
		if after == 0 && r.kind != initContainer && r.behavior.isAnnotated(r.container, r.kind, s.RestartCount) {
			return terminatedStatus(r.pod, s, r.kind, container.State{ExitCode: code, FinishedAt: r.now})
		}
		r.wakeAt(r.now.Add(after))
	}
	return s
}

// startedStatus returns the status of a container that has started.
func startedStatus(pod *corev1.Pod, c *corev1.Container, s corev1.ContainerStatus, since time.Time) corev1.ContainerStatus {
	s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}}
	s.ContainerID = "simulated://" + string(pod.UID) + "/" + c.Name + "/" + strconv.Itoa(int(s.RestartCount))
	s.Image, s.ImageID = c.Image, imageID(c.Image)
	s.Started = new(true)
	return s
}

// replacement returns why a running container has to restart because its spec has changed.
func (r *containerRun) replacement(s corev1.ContainerStatus) container.Replacement {
	switch {
	case restartsForImage(r.container, r.kind, s):
		return container.ReplacedForImage
	case r.resized && restartsToResize(r.pod, r.container, s, r.resources):
		return container.ReplacedForResources
	}
	return container.NotReplaced
}

// isReady reports whether a container that has been running since then is ready. If
// not, it sets when to check again.
func (r *containerRun) isReady(since time.Time) bool {
	if r.kind == initContainer {
		return false
	}
	at := since.Add(r.behavior.readyAfter)
	if r.kind == mainContainer && r.behavior.readyAfter > 0 && r.now.Before(at) { // a command may have started after now
		r.wakeAt(at)
		return false
	}
	return true
}

func (r *containerRun) advanceRunning(s corev1.ContainerStatus) corev1.ContainerStatus {
	since := s.State.Running.StartedAt
	command, known := r.startIfDue(s.RestartCount)
	decides := known && command.Decides()
	why := container.NotReplaced
	if !decides || command.Phase < container.Ended {
		why = r.replacement(s)
	}
	if decides && command.Replaced != container.NotReplaced { // whatever the spec asks for now
		why = command.Replaced
	}
	if why != container.NotReplaced {
		return r.replace(s, command, decides, why)
	}
	if known && command.Phase < container.Running {
		return r.followCommand(s, command)
	}
	r.commands.notRun.note(r, command.Command, s.RestartCount) // it may have started before this process
	if decides {
		return r.followCommand(s, command)
	}
	after, code, ends := r.behavior.nextExit(r.container, r.kind, s.RestartCount)
	if at := since.Add(after); ends {
		if !r.now.Before(at) {
			return terminatedStatus(r.pod, s, r.kind, container.State{ExitCode: code, FinishedAt: r.now})
		}
		r.wakeAt(at)
	}
	s.Ready = r.isReady(since.Time)
	return s
}

// terminatedStatus returns the status of a running container that has ended. As with a kubelet, an init
// container that has completed is ready.
func terminatedStatus(pod *corev1.Pod, s corev1.ContainerStatus, kind containerKind, end container.State) corev1.ContainerStatus {
	state := &corev1.ContainerStateTerminated{
		ExitCode:    end.ExitCode,
		Reason:      end.Reason,
		Message:     terminationMessage(pod, end.Message),
		FinishedAt:  metav1.NewTime(end.FinishedAt),
		ContainerID: s.ContainerID,
	}
	switch {
	case end.Reason != "":
	case end.ExitCode == 0:
		state.Reason = "Completed"
	default:
		state.Reason = "Error"
	}
	if s.State.Running != nil {
		state.StartedAt = s.State.Running.StartedAt
	}
	s.State = corev1.ContainerState{Terminated: state}
	s.Ready, s.Started = kind == initContainer && end.ExitCode == 0, new(false)
	return s
}

func (r *containerRun) advanceTerminated(s corev1.ContainerStatus) corev1.ContainerStatus {
	last := s.State.Terminated
	if !shouldRestart(r.pod, r.container, r.kind, last.ExitCode) {
		return s
	}
	return r.restartContainer(s, last)
}

// restartContainer starts a container again, or makes it wait for its restart.
func (r *containerRun) restartContainer(s corev1.ContainerStatus, last *corev1.ContainerStateTerminated) corev1.ContainerStatus {
	was := s
	s.LastTerminationState = corev1.ContainerState{Terminated: last}
	if r.resized {
		r.backoffs.setKey(r.container, s.RestartCount)
	}
	r.backoffs.noteRun(r.container.Name, s.RestartCount, last)
	delay := r.backoffs.delay(r.container.Name, s.RestartCount)
	if at := last.FinishedAt.Add(delay); r.now.Before(at) {
		r.wakeAt(at)
		s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason:  reasonCrashLoopBackOff,
			Message: fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", delay, r.container.Name, format.Pod(r.pod)),
		}}
		return s
	}
	if command, known := r.startIfDue(s.RestartCount + 1); known && command.Phase < container.Running {
		if command.Phase == container.Preparing && was.State.Terminated != nil { // its last run is not the one before as well
			s = was
		}
		return r.waitForStart(s, command)
	}
	s.RestartCount++
	return r.startContainer(s)
}

// shouldRestart reports whether a container that exited with code is restarted.
func shouldRestart(pod *corev1.Pod, c *corev1.Container, kind containerKind, code int32) bool {
	switch {
	case kind == sidecar:
		return true
	case kind == ephemeralContainer, kind == initContainer && code == 0:
		return false
	}
	return podutil.ContainerShouldRestart(*c, pod.Spec, code)
}

// syncWithSpec copies to the status what a change of the spec may change.
func (r *containerRun) syncWithSpec(s corev1.ContainerStatus) corev1.ContainerStatus {
	s.Name, s.VolumeMounts = r.container.Name, volumeMountStatuses(r.container)
	if s.ContainerID != "" {
		s.User = containerUser(r.pod, r.container)
	}
	if !r.replacing {
		if s.ContainerID != "" && (s.ImageID == "" || s.Image != r.container.Image) { // it has an image once it was created
			s.ImageID = imageID(r.container.Image)
		}
		s.Image = r.container.Image
	}
	hasResources := s.State.Running != nil || r.kind == initContainer && s.State.Terminated != nil
	if hasResources && r.resized {
		s.AllocatedResources = r.container.Resources.Requests
	}
	if hasResources && r.resized && !r.replacing {
		s.Resources = &corev1.ResourceRequirements{Requests: r.container.Resources.Requests, Limits: r.container.Resources.Limits}
	}
	return s
}

func (r *containerRun) wakeAt(t time.Time) { r.wake = earlierTime(r.wake, t) }

// earlierTime returns the earlier of two times; zero means never.
func earlierTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
