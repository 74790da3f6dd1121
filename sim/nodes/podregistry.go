package nodes

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/events"

	"github.com/ctrlplane/ctrlplane/internal/oneline"
)

type podEntry struct {
	key             string
	node            string
	resourceVersion string // last seen
	ips             []allocatedIP
	load            *podLoad    // its part of its node's load; nil if it is not admitted or has finished
	rejected        *rejection  // by its node, finally; nil if it is not
	duePod          *corev1.Pod // the Pod, while something is due for it
	stageState
	deleting      bool // it is being deleted
	undeleted     undeleted
	finished      bool   // it has succeeded or failed
	pending       bool   // a write of its status is due now or on its way
	reportedError string // what was last reported to be wrong with its annotations
	backoffs      restartBackoffs
	described     bool          // what is simulated about it has been reported
	resize        *resizeReport // nil if no resize is on its way
	sandboxError  string        // why it cannot start yet; empty if it can
	exceeded      bool          // that it has exceeded its deadline has been reported
}

// undeleted is what is known of deletions of a Pod that have failed.
type undeleted struct {
	times int
	until time.Time // when it is tried again at the earliest: a stage of a user may make it due at once
}

// noteUndeleted notes that a deletion of a Pod has failed.
func (r *podRegistry) noteUndeleted(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.pods[uid]; e != nil {
		delay := min(minWriteDelay<<min(e.undeleted.times, 10), maxWriteDelay)
		e.undeleted = undeleted{e.undeleted.times + 1, r.now().Add(delay)}
	}
}

// podUpdate is the result of an update of a Pod.
type podUpdate struct {
	accepted        bool // false if the Pod is not on a live simulated node, or is out of date
	next            dueStage
	annotationError error      // what is wrong with its annotations, if not reported before
	rejected        *rejection // by its node as the watch knows it: check the current Node
	simulated       string     // what is simulated about it, if not reported before
	events          []podEvent // about a resize or a restart, if not reported before
}

// updatePod stores the state of a Pod. With listed, the Pod comes from a list and may be
// out of date. fresh is the current Node of the Pod, or nil: only that can reject the
// Pod finally.
func (r *podRegistry) updatePod(pod *corev1.Pod, listed bool, fresh *corev1.Node) podUpdate {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entryOf(pod, listed)
	if e == nil {
		return podUpdate{} // deleted or newer: the watch is ahead of the list
	}
	e.duePod, e.pending, e.resourceVersion = nil, false, pod.ResourceVersion
	e.finished = podutil.IsPodTerminal(pod)
	if node := r.nodes[e.node]; node == nil || !node.live {
		e.play, e.deleting = dueStage{}, false // once the node is live, what is due is found again
		return podUpdate{}
	}
	s := podUpdate{accepted: true, annotationError: r.newAnnotationError(pod, e)}
	before := e.sandboxError
	at := r.placePod(pod, e, fresh)
	if at.rejected != nil && e.rejected == nil {
		s.rejected = at.rejected
		return s
	}
	if e.deleting {
		e.duePod = pod // deleting it may have to be tried again
		return s
	}
	at.commands.mayStart = r.commands != nil
	if at.commands.mayStart {
		r.updateTable(pod, at)
		s.simulated = r.commandsOf(pod, e)
	}
	s.events = append(e.takeResizeEvents(), e.backoffs.takeEvents(pod)...)
	if at.sandboxError != "" && before == "" {
		s.events = append(s.events, podEvent{warning: true, reason: events.FailedCreatePodSandBox, message: "Failed to create pod sandbox: " + at.sandboxError})
	}
	if s.next = nextPodStage(pod, at, r.now()); s.next.name != "" {
		e.duePod, e.pending = pod, s.next.name == podStatusNow
	}
	if s.next.deletes() && s.next.at.Before(e.undeleted.until) {
		s.next.at = e.undeleted.until
	}
	r.played.pods.setDue(e.key, s.next, r.now())
	return s
}

// entryOf returns the entry of a Pod, which it adds if the Pod does not come from a list; nil if the
// Pod comes from a list that is out of date.
func (r *podRegistry) entryOf(pod *corev1.Pod, listed bool) *podEntry {
	e := r.pods[pod.UID]
	switch {
	case listed && (e == nil || e.resourceVersion != pod.ResourceVersion):
		return nil
	case e != nil:
		return e
	}
	e = &podEntry{key: podKey(pod), node: pod.Spec.NodeName}
	r.pods[pod.UID] = e
	if r.podsByNode[e.node] == nil {
		r.podsByNode[e.node] = map[types.UID]*podEntry{}
	}
	r.podsByNode[e.node][pod.UID] = e
	return e
}

// commandsOf tells the runtime what it needs to know of a Pod. It returns what is
// simulated about the Pod, if that was not reported before.
func (r *podRegistry) commandsOf(pod *corev1.Pod, e *podEntry) string {
	if podutil.IsPodTerminal(pod) {
		r.commands.StopPod(pod, r.now().Add(sidecarGracePeriod))
		return ""
	}
	r.commands.Update(pod)
	if e.described || e.rejected != nil || pod.Status.StartTime != nil || pod.DeletionTimestamp != nil {
		return ""
	}
	e.described = true
	said := describeSimulation(pod)
	if said != "" && !hasCommand(pod) && r.isDescribed(pod, said) {
		return ""
	}
	return said
}

const (
	// maxDescribed is how many descriptions of Pods of controllers are kept.
	maxDescribed = 1024
	// eventTTL is how long the API server keeps an event by default.
	eventTTL = time.Hour
)

// description is what has been said about the Pods of a controller.
type description struct {
	owner types.UID
	said  string // changes with the template of a StatefulSet or DaemonSet
}

// isDescribed reports whether an event says the same about another Pod of the same controller, and notes it otherwise: an
// event of each of thousands of Pods would displace others.
func (r *podRegistry) isDescribed(pod *corev1.Pod, said string) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return false
	}
	key, now := description{owner.UID, said}, r.now()
	if at, known := r.descriptions.Get(key); known && now.Sub(at.(time.Time)) < eventTTL {
		return true
	}
	r.descriptions.Add(key, now)
	return false
}

// sidecarGracePeriod is how long the commands of a Pod that has finished may take to
// stop.
const sidecarGracePeriod = 30 * time.Second

// podRejection returns why its node has rejected a Pod; nil if it has not.
func (r *podRegistry) podRejection(uid types.UID) *rejection {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.pods[uid]; e != nil {
		return e.rejected
	}
	return nil
}

// newAnnotationError returns what is wrong with the annotations of a Pod, unless that
// was reported before.
func (r *podRegistry) newAnnotationError(pod *corev1.Pod, e *podEntry) error {
	if len(pod.Annotations) == 0 {
		return nil
	}
	_, wrong := podBehaviorOf(pod)
	if r.checkPod != nil {
		wrong = oneline.Join(wrong, r.checkPod(pod))
	}
	reported := e.reportedError
	if e.reportedError = ""; wrong != nil {
		e.reportedError = wrong.Error()
	}
	if e.reportedError == reported {
		return nil
	}
	return wrong
}

func (r *podRegistry) deletePod(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.pods[uid]
	if e == nil {
		return
	}
	if r.commands != nil {
		r.commands.Remove(uid)
		r.commands.HTTP.Remove(uid)
	}
	r.releasePod(e)
	r.played.pods.forget(e.key)
	delete(r.pods, uid)
	delete(r.podsByNode[e.node], uid)
	if len(r.podsByNode[e.node]) == 0 {
		delete(r.podsByNode, e.node)
	}
}

// retainPods deletes all Pods that are not present.
func (r *podRegistry) retainPods(present map[types.UID]bool) {
	r.mu.Lock()
	var left []types.UID
	for uid := range r.pods {
		if !present[uid] {
			left = append(left, uid)
		}
	}
	r.mu.Unlock()
	for _, uid := range left {
		r.deletePod(uid)
	}
}

// hasPods reports whether Pods of a node are known.
func (r *podRegistry) hasPods(node string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.podsByNode[node]) > 0
}

// currentPodStage returns the stage of a user that is due for a Pod, or that is or was played for this version of it.
func (r *podRegistry) currentPodStage(pod *corev1.Pod) dueStage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.pods[pod.UID]; e != nil {
		return e.current(pod.ResourceVersion)
	}
	return dueStage{}
}

// assignPod stores what is due for a Pod, and returns what the player is to do.
func (r *podRegistry) assignPod(pod *corev1.Pod, what dueStage, isInForce func(*userStage) bool) (play dueStage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.pods[pod.UID]
	if e == nil || e.deleting && what.name == "" {
		return dueStage{}
	}
	play = e.assign(what, pod.ResourceVersion, isInForce)
	if what.user != nil { // in place of what is due by default
		e.duePod, e.pending = nil, false
		e.deleting = false // the deletion becomes due again when no stage matches
	}
	if play.user != nil {
		e.duePod = pod
		r.played.pods.setDue(e.key, play, r.now())
	}
	return play
}

// takePodStage begins to play the stage of a user for a Pod on a live node if one is due; otherwise it returns nil.
func (r *podRegistry) takePodStage(uid types.UID, isInForce func(*userStage) bool) *stageRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.pods[uid]
	if e == nil {
		return nil
	}
	if node := r.nodes[e.node]; node == nil || !node.live {
		return nil // when it is live again, the Pod is processed again
	}
	run := e.take(e.duePod, &r.played.pods, r.now(), isInForce)
	if run != nil {
		e.duePod = nil
	}
	return run
}

// forgetStages says that no stages of users are due or played for the Pods of a node.
func (r *podRegistry) forgetStages(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.podsByNode[node] {
		if e.run = nil; e.play.user != nil {
			e.play, e.duePod = dueStage{}, nil
		}
	}
}

// duePodStage returns what the player is to do for a Pod.
func (r *podRegistry) duePodStage(uid types.UID) dueStage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.pods[uid]; e != nil {
		return e.play
	}
	return dueStage{}
}

// duePod returns a Pod for which something is due; nil if nothing is.
func (r *podRegistry) duePod(uid types.UID) (*corev1.Pod, placement, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.pods[uid]
	if e == nil || e.duePod == nil || e.play.user != nil {
		return nil, placement{}, nil
	}
	if node := r.nodes[e.node]; node == nil || !node.live {
		return nil, placement{}, fmt.Errorf("node %s "+notLiveSuffix, e.node)
	}
	deleting := e.duePod.DeletionTimestamp != nil && e.play.deletes()
	if deleting && r.now().Before(e.play.at) {
		return nil, placement{}, nil // it stops first
	}
	e.deleting = deleting
	r.played.pods.setRendered(e.key)
	at := r.placePod(e.duePod, e, nil)
	at.commands.mayStart = r.commands != nil // a restart may have become due since the last update
	return e.duePod, at, nil
}

// takeDeadlineEvent returns the event of a kubelet about a Pod that has exceeded its deadline, if it was not
// reported before.
func (r *podRegistry) takeDeadlineEvent(pod *corev1.Pod) (event podEvent, found bool) {
	deadline := activeDeadline(pod, &pod.Status)
	if deadline.IsZero() || r.now().Before(deadline) || podutil.IsPodTerminal(pod) || pod.DeletionTimestamp != nil {
		return podEvent{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.pods[pod.UID]
	if e == nil || e.exceeded {
		return podEvent{}, false
	}
	e.exceeded = true
	return podEvent{reason: reasonDeadlineExceeded, message: messageDeadlineExceeded}, true
}

// postponePod makes the player look at a Pod again at a time: what was due has changed
// nothing yet.
func (r *podRegistry) postponePod(uid types.UID, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.pods[uid]
	if e == nil || e.play.deletes() || e.play.user != nil || e.play.name == "" {
		return
	}
	e.play, e.pending = dueStage{name: podStatusLater, at: at}, false
	if e.duePod != nil && e.duePod.DeletionTimestamp != nil {
		e.play.name = podDeleteLater
	}
}

// pendingVersion returns the version of a Pod for which a write of its status is due or on
// its way: the next version will show what has changed about its containers. It is empty
// if no such write exists.
func (r *podRegistry) pendingVersion(uid types.UID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.pods[uid]; e != nil && e.pending {
		return e.resourceVersion
	}
	return ""
}

// placePod gives a Pod what it needs from its node, or releases that if the Pod has
// finished.
func (r *podRegistry) placePod(pod *corev1.Pod, e *podEntry, fresh *corev1.Node) placement {
	node := r.nodes[e.node]
	at := placement{hostIPs: node.nodeIPs(), commands: commandRunner{runtime: r.commands, notRun: r.notRun}, backoffs: &e.backoffs}
	if podutil.IsPodTerminal(pod) {
		r.releasePod(e)
		return at
	}
	if at.rejected = r.admitPod(pod, e, fresh); at.rejected != nil {
		return at
	}
	why, accepted := r.resizePod(pod, e)
	at.resizeRejected = why
	e.reportResize(pod, why, accepted)
	if e.resize != nil {
		at.resizedBy = e.resize.startedBy
	}
	if pod.Spec.HostNetwork {
		at.podIPs = at.hostIPs
		return at
	}
	if len(e.ips) == 0 {
		r.createSandbox(pod, e, podRanges(node.node))
	}
	at.sandboxError = e.sandboxError
	for _, ip := range e.ips {
		at.podIPs = append(at.podIPs, ip.addr)
	}
	return at
}

// podCount returns the number of Pods that are bound to a node and have not finished: a finished one takes
// none of its room.
func (r *podRegistry) podCount(node string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.podsByNode[node] {
		if !e.finished {
			n++
		}
	}
	return n
}
