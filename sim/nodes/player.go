package nodes

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// The number of objects of a kind that are written at the same time, and the delays
// between attempts to write one.
const (
	podWorkers, nodeWorkers      = 8, 4
	minWriteDelay, maxWriteDelay = time.Second, time.Minute
)

// player does what is due for the objects of one kind: it writes their statuses, and has the stages of users played.
type player struct {
	queue workqueue.TypedRateLimitingInterface[string]
	now   func() time.Time
	// play does what is due for a key. If it is too early, it returns when to play.
	play func(ctx context.Context, key string) (later time.Time, err error)
	// failed receives an error of a first attempt that does not pass by itself. The key is
	// tried again all the same.
	failed func(key string, err error)
}

func newPlayer(now func() time.Time, minDelay, maxDelay time.Duration, play func(context.Context, string) (time.Time, error), failed func(string, error)) *player {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](minDelay, maxDelay)
	return &player{queue: workqueue.NewTypedRateLimitingQueue(limiter), now: now, play: play, failed: failed}
}

// maxQueueTime is how long a key waits in the queue, which cannot remove it when the object is deleted.
const maxQueueTime = time.Hour

// schedule plays what is due for a key at a time.
func (p *player) schedule(key string, at time.Time) {
	p.queue.AddAfter(key, min(at.Sub(p.now()), maxQueueTime))
}

// run plays until the queue is shut down.
func (p *player) run(ctx context.Context) {
	for {
		key, stopped := p.queue.Get()
		if stopped {
			return
		}
		p.process(ctx, key)
		p.queue.Done(key)
	}
}

func (p *player) process(ctx context.Context, key string) {
	later, err := p.play(ctx, key)
	switch {
	case ctx.Err() != nil:
	case err != nil && !apierrors.IsNotFound(err):
		if p.queue.NumRequeues(key) == 0 && !isTemporary(err) {
			p.failed(key, err)
		}
		p.queue.AddRateLimited(key) // a kubelet tries again, too, until the object is as it wants
		return
	case !later.IsZero():
		p.schedule(key, later)
	}
	p.queue.Forget(key)
}

// isTemporary reports whether the same write is likely to succeed soon.
func isTemporary(err error) bool {
	return isRetried(err) || apierrors.IsInternalError(err)
}

// isStaleObjectError reports whether an error means that the object to be written was replaced, or its node is not live.
func isStaleObjectError(err error) bool {
	return strings.HasSuffix(err.Error(), notLiveSuffix) || strings.Contains(err.Error(), "UID in precondition")
}

// startPlayers starts what writes the statuses of Pods and Nodes, and plays stages.
func (s *simulation) startPlayers() {
	failed := func(kind string) func(string, error) {
		return func(key string, err error) {
			log := s.log.Error
			if isStaleObjectError(err) {
				log = s.log.Debug
			}
			log("cannot do what is due for a "+kind, kind, key, "err", err)
		}
	}
	s.podPlayer = newPlayer(s.registry.now, minWriteDelay, maxWriteDelay, s.playPod, failed("pod"))
	s.nodePlayer = newPlayer(s.registry.now, minWriteDelay, maxWriteDelay, s.playNode, failed("node"))
	for range podWorkers {
		s.wg.Go(func() { s.podPlayer.run(s.ctx) })
	}
	for range nodeWorkers {
		s.wg.Go(func() { s.nodePlayer.run(s.ctx) })
	}
}

func (s *simulation) stopPlayers() {
	s.podPlayer.queue.ShutDown()
	s.nodePlayer.queue.ShutDown()
	s.podStages.ShutDown()
	s.nodeStages.ShutDown()
}

// playPod writes the status of the Pod with a UID, deletes a Pod that has stopped, or has the stage of a user played.
func (s *simulation) playPod(ctx context.Context, uid string) (later time.Time, err error) {
	due := s.registry.duePodStage(types.UID(uid))
	now := s.registry.now()
	if due.name == "" || now.Before(due.at) {
		return due.at, nil
	}
	if due.user != nil {
		s.podStages.Add(stageWork{key: uid})
		return time.Time{}, nil
	}
	pod, patch, later, err := s.registry.podPatch(types.UID(uid))
	if pod == nil || err != nil {
		return time.Time{}, err
	}
	if event, found := s.registry.takeDeadlineEvent(pod); found {
		s.recordPodEvent(pod, event)
	}
	api := s.client.CoreV1().Pods(pod.Namespace)
	if len(patch) > 0 {
		if _, err := api.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			return time.Time{}, fmt.Errorf("patch the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	if due.deletes() {
		// Another Pod may have the name by now.
		options := metav1.DeleteOptions{GracePeriodSeconds: new(int64), Preconditions: metav1.NewUIDPreconditions(uid)}
		if err := api.Delete(ctx, pod.Name, options); err != nil {
			s.registry.noteUndeleted(types.UID(uid))
			return time.Time{}, fmt.Errorf("delete pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	return later, nil
}

// playNode writes the status of a Node, or has the stage of a user played.
func (s *simulation) playNode(ctx context.Context, name string) (later time.Time, err error) {
	due := s.registry.dueNodeStage(name)
	if due.name == "" || s.registry.now().Before(due.at) {
		return due.at, nil
	}
	if due.user != nil {
		s.nodeStages.Add(stageWork{key: name})
		return time.Time{}, nil
	}
	patch, err := s.registry.nodePatch(name)
	if len(patch) == 0 || err != nil {
		return time.Time{}, err
	}
	if _, err = s.client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return time.Time{}, fmt.Errorf("patch the status of node %s: %w", name, err)
	}
	return time.Time{}, nil
}

// nodePatch returns the patch that a Node needs now; none if it needs none.
func (r *podRegistry) nodePatch(name string) ([]byte, error) {
	node, addr, err := r.liveNode(name)
	if err != nil {
		return nil, err
	}
	r.played.nodes.setRendered(name)
	st, _ := r.shape.nodeStatus(node, addr, r.now())
	if apiequality.Semantic.DeepEqual(st, node.Status) {
		return nil, nil
	}
	return mergePatch(corev1.Node{Status: node.Status}, corev1.Node{ObjectMeta: metav1.ObjectMeta{UID: node.UID}, Status: st})
}

// podPatch returns a Pod for which something is due, and the patch that it needs now. If
// it needs none, it returns when to look again; zero means after its next change.
func (r *podRegistry) podPatch(uid types.UID) (pod *corev1.Pod, patch []byte, later time.Time, err error) {
	pod, at, err := r.duePod(uid)
	if pod == nil || err != nil {
		return nil, nil, time.Time{}, err
	}
	st, wake := podStatus(pod, at, r.now())
	if apiequality.Semantic.DeepEqual(st, pod.Status) {
		if !wake.After(r.now()) {
			return pod, nil, time.Time{}, nil
		}
		r.postponePod(uid, wake)
		return pod, nil, wake, nil
	}
	patch, err = mergePatch(corev1.Pod{Status: pod.Status}, corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID}, Status: st})
	return pod, patch, time.Time{}, err
}
