package recording

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/observe"
)

// transitionOf returns what an object has become with an update; "" if nothing.
func transitionOf(before, after any) observe.Transition {
	switch after := after.(type) {
	case *corev1.Node:
		if before, ok := before.(*corev1.Node); ok {
			return nodeTransition(before, after)
		}
	case *corev1.Pod:
		if before, ok := before.(*corev1.Pod); ok {
			return podTransition(&before.Status, &after.Status)
		}
	case *corev1.PersistentVolumeClaim:
		if before, ok := before.(*corev1.PersistentVolumeClaim); ok && after.Status.Phase == corev1.ClaimBound && before.Status.Phase != corev1.ClaimBound {
			return observe.BecameBound
		}
	case *batchv1.Job:
		if before, ok := before.(*batchv1.Job); ok {
			return jobTransition(&before.Status, &after.Status)
		}
	}
	return ""
}

func nodeTransition(before, after *corev1.Node) observe.Transition {
	if became := changedReadiness(isNodeReady(before), isNodeReady(after)); became != "" {
		return became
	}
	switch was, is := before.Spec.Unschedulable, after.Spec.Unschedulable; {
	case is && !was:
		return observe.BecameUnschedulable
	case was && !is:
		return observe.BecameSchedulable
	}
	return ""
}

func jobTransition(before, after *batchv1.JobStatus) observe.Transition {
	for condition, became := range map[batchv1.JobConditionType]observe.Transition{
		batchv1.JobComplete: observe.BecameSucceeded,
		batchv1.JobFailed:   observe.BecameFailed,
	} {
		if hasJobCondition(after, condition) && !hasJobCondition(before, condition) {
			return became
		}
	}
	return ""
}

func podTransition(before, after *corev1.PodStatus) observe.Transition {
	if before.Phase != after.Phase {
		switch after.Phase {
		case corev1.PodSucceeded:
			return observe.BecameSucceeded
		case corev1.PodFailed:
			return observe.BecameFailed
		}
	}
	return changedReadiness(isPodReady(before), isPodReady(after))
}

func changedReadiness(was, is bool) observe.Transition {
	switch {
	case is && !was:
		return observe.BecameReady
	case was && !is:
		return observe.BecameNotReady
	}
	return ""
}

func isNodeReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func isPodReady(s *corev1.PodStatus) bool {
	return slices.ContainsFunc(s.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func hasJobCondition(s *batchv1.JobStatus, condition batchv1.JobConditionType) bool {
	return slices.ContainsFunc(s.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == condition && c.Status == corev1.ConditionTrue
	})
}
