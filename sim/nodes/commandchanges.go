package nodes

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

// podChange names a Pod whose commands have changed.
type podChange struct {
	namespace, name string
	uid             types.UID
	awaited         string // the version that was to be replaced, of a change that waited for that
}

// changeWorkers is how many Pods whose commands have changed are read at the same time.
const changeWorkers = 4

// startCommands makes the runtime of commands active.
func (s *simulation) startCommands() {
	s.changes = workqueue.NewTyped[podChange]()
	runtime := s.registry.commands
	if runtime == nil {
		return
	}
	runtime.HTTP.SetSimulated(s.registry.isPodAddress)
	runtime.HTTP.SetReserved(s.registry.isReserved)
	runtime.Start(container.Config{
		Client:      s.client,
		Allocatable: s.registry.allocatable,
		OnChange: func(namespace, name string, uid types.UID) {
			s.changes.Add(podChange{namespace: namespace, name: name, uid: uid})
		},
		RecordEvent: func(pod *corev1.Pod, name, eventType, reason, message string) {
			s.kubeletRecorder(pod).Event(eventObject(pod, name), eventType, reason, message)
		},
	})
	for range changeWorkers {
		s.wg.Go(s.processChanges)
	}
}

// eventObject returns what an event about a container of a Pod is about.
func eventObject(pod *corev1.Pod, name string) *corev1.ObjectReference {
	ref := &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
	}
	if c := kubecontainer.GetContainerSpec(pod, name); c != nil {
		if of, err := kubecontainer.GenerateContainerRef(pod, c); err == nil { // fails for the Pods of other kinds of kubelets
			return of
		}
	}
	return ref
}

// processChanges passes Pods whose commands have changed to the feed.
func (s *simulation) processChanges() {
	for {
		key, stopped := s.changes.Get()
		if stopped {
			return
		}
		s.processChange(key)
		s.changes.Done(key)
	}
}

func (s *simulation) processChange(key podChange) {
	if s.ctx.Err() != nil || s.awaitsWrite(key) {
		return
	}
	pod, err := s.client.CoreV1().Pods(key.namespace).Get(s.ctx, key.name, metav1.GetOptions{})
	switch {
	case err == nil && pod.UID == key.uid:
		s.pods.processPod(pod, true)
	case err == nil || apierrors.IsNotFound(err):
	default:
		s.log.Warn("cannot read a pod whose container has changed: retrying in 1 s", "namespace", key.namespace, "pod", key.name, "err", err)
		time.AfterFunc(time.Second, func() { s.changes.Add(key) })
	}
}

// pendingTimeout is how long a change waits for a write that is due, which may turn out
// to change nothing.
const pendingTimeout = time.Second

// awaitsWrite reports whether a change needs no request, because a write is due or on its
// way: its result is passed to the feed.
func (s *simulation) awaitsWrite(key podChange) bool {
	version := s.pods.pendingVersion(key.uid)
	if key.awaited != "" {
		return version != key.awaited
	}
	if version == "" {
		return false
	}
	key.awaited = version
	time.AfterFunc(pendingTimeout, func() { s.changes.Add(key) })
	return true
}

// allocatable returns the allocatable resources of a node.
func (r *podRegistry) allocatable(name string) corev1.ResourceList {
	node := r.lastSeenNode(name)
	if node == nil {
		return r.shape.capacity
	}
	return r.shape.withAllocatable(node).Status.Allocatable
}
