package health

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// Why returns in one line why an object is not healthy. It looks at what the
// object owns or needs, and at its events; what is known only from the object
// itself is the last resort.
func (w *Waiter) Why(ctx context.Context, u *unstructured.Unstructured) string {
	e := &trackedObject{State: StateOf(u), object: u}
	return w.why(ctx, e, false)
}

// why says why an entry is not healthy or, if gone, why it is not gone.
func (w *Waiter) why(ctx context.Context, e *trackedObject, gone bool) string {
	s := &reasonSearch{ctx: ctx, objects: w.objects}
	reason := oneLine(s.findReason(e, gone))
	switch {
	case reason == "":
		return e.Message
	case e.Status == Unknown:
		return reason + "; by now it is not known: " + e.Message
	case s.err != nil:
		return reason + "; more is not known: " + plainError(s.err)
	}
	return reason
}

func (s *reasonSearch) findReason(e *trackedObject, gone bool) string {
	switch {
	case e.object == nil && e.Status == NotFound:
		return s.explainAbsence(e)
	case e.object == nil:
		return ""
	case gone && e.object.GetDeletionTimestamp() == nil:
		return "nobody has deleted it"
	}
	return s.explainObject(e.object)
}

// reasonSearch looks for a reason. The first error is kept, and what else can be found
// counts all the same.
type reasonSearch struct {
	ctx     context.Context
	objects dynamic.Interface
	err     error
}

func (s *reasonSearch) recordError(err error) {
	if s.err == nil {
		s.err = err
	}
}

// explainObject says why one is not healthy, or gone.
func (s *reasonSearch) explainObject(u *unstructured.Unstructured) string {
	if u.GetDeletionTimestamp() != nil {
		return s.explainDeletion(u)
	}
	if reason := s.explainKind(u); reason != "" {
		return reason
	}
	message := StateOf(u).Message
	if warning := s.lastWarning(u); warning != "" {
		return message + "; its last warning: " + warning
	}
	return message
}

// explainKind is what is known of some kinds; "" if that is nothing.
func (s *reasonSearch) explainKind(u *unstructured.Unstructured) string {
	switch u.GroupVersionKind().GroupKind().String() {
	case "Deployment.apps":
		return s.explainDeployment(u)
	case "ReplicaSet.apps", "ReplicationController":
		return s.explainReplicaSet(u)
	case "StatefulSet.apps", "DaemonSet.apps":
		return s.explainPods(u)
	case "Job.batch":
		return s.explainJob(u)
	case "Pod":
		return s.explainPod(u)
	case "PersistentVolumeClaim":
		return s.explainClaim(u)
	}
	return ""
}

// explainDeletion says what keeps an object that is being deleted.
func (s *reasonSearch) explainDeletion(u *unstructured.Unstructured) string {
	const text = "it is being deleted"
	finalizers := u.GetFinalizers()
	switch {
	case len(finalizers) == 1:
		return text + ", but nobody has taken away its finalizer " + finalizers[0]
	case len(finalizers) > 1:
		return text + ", but nobody has taken away its finalizers " + strings.Join(finalizers, ", ")
	}
	switch u.GroupVersionKind().GroupKind() {
	case podKind:
		return text + ", but the kubelet of its node has not ended it"
	case namespaceKind:
		if left := remainingContent(u); left != "" {
			return text + ": " + left
		}
		return text + "; its controller has not told yet what is left in it"
	}
	return text
}

// remainingContent is what the conditions of a Namespace say is left in it.
func remainingContent(u *unstructured.Unstructured) string {
	var left []string
	for _, c := range conditions(u) {
		if strings.HasPrefix(c.Type, "Namespace") && c.Status == metav1.ConditionTrue {
			left = append(left, c.Message)
		}
	}
	return strings.Join(left, "; ")
}

// explainAbsence says why there is no object.
func (s *reasonSearch) explainAbsence(e *trackedObject) string {
	if strings.Contains(e.Message, errNotServed.Error()) {
		return s.explainUnserved(e.Ref)
	}
	if ns := e.Ref.Namespace; ns != "" && s.get(coreResource("namespaces"), "", ns) == nil && s.err == nil {
		return fmt.Sprintf("there is no namespace %s", ns)
	}
	return e.Message
}
