package health

import (
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// explainDeployment says that the deadline for progress has passed, and what keeps the rollout.
func (s *reasonSearch) explainDeployment(u *unstructured.Unstructured) string {
	if isUnobserved(u) {
		return ""
	}
	reason := s.explainRollout(u)
	if c, _ := findCondition(u, string(appsv1.DeploymentProgressing)); c.Reason != progressDeadlineExceeded || reason == "" {
		return reason // the message of the state says it, too
	}
	deadline, _, _ := unstructured.NestedInt64(u.Object, "spec", "progressDeadlineSeconds")
	return fmt.Sprintf("exceeded its progressDeadlineSeconds of %d; %s", deadline, reason)
}

// explainRollout examines the newest ReplicaSet.
func (s *reasonSearch) explainRollout(u *unstructured.Unstructured) string {
	newest := newestReplicaSet(s.listOwned(appsv1.SchemeGroupVersion.WithResource("replicasets"), u))
	if newest != nil && StateOf(newest).Status != Current {
		return s.explainReplicaSet(newest)
	}
	paused, _, _ := unstructured.NestedBool(u.Object, "spec", "paused")
	switch {
	case paused:
		return StateOf(u).Message + "; paused: spec.paused is true"
	case newest == nil && s.err == nil:
		return s.explainNoChildren(u, "ReplicaSet")
	}
	return "" // old ReplicaSets are the reason, which the Deployment itself reports
}

// These are constants of upstream's Deployment controller, which this package must not
// import.
const (
	revisionAnnotation       = "deployment.kubernetes.io/revision"
	progressDeadlineExceeded = "ProgressDeadlineExceeded"
)

// newestReplicaSet returns the ReplicaSet of the latest revision.
func newestReplicaSet(sets []unstructured.Unstructured) *unstructured.Unstructured {
	var found *unstructured.Unstructured
	latest := -1
	for i := range sets {
		// A ReplicaSet without a revision was just created; 0 is before all others.
		revision, err := strconv.Atoi(sets[i].GetAnnotations()[revisionAnnotation])
		if err != nil {
			revision = 0
		}
		if revision > latest {
			found, latest = &sets[i], revision
		}
	}
	return found
}

// explainReplicaSet explains why Pods cannot be created or are not healthy.
func (s *reasonSearch) explainReplicaSet(u *unstructured.Unstructured) string {
	if c, _ := findCondition(u, string(appsv1.ReplicaSetReplicaFailure)); c.Status == metav1.ConditionTrue {
		s.failing = RefOf(u)
		return fmt.Sprintf("%s %s: %s", u.GetKind(), u.GetName(), joinReason(c.Reason, c.Message))
	}
	return s.explainPods(u)
}

// explainDaemonSet explains why Pods are not healthy, and that the template may have been changed since, for new Pods only.
func (s *reasonSearch) explainDaemonSet(u *unstructured.Unstructured) string {
	reason := s.explainPods(u)
	if reason == "" {
		return ""
	}
	return joinTexts(reason, explainOnDelete(u))
}

// explainJob explains a Job that failed, is suspended, or waits for its Pods.
func (s *reasonSearch) explainJob(u *unstructured.Unstructured) string {
	if c, _ := findCondition(u, string(batchv1.JobSuspended)); c.Status == metav1.ConditionTrue {
		return s.explainSuspension(u)
	}
	pods, end := s.listOwned(coreResource("pods"), u), readJobEnd(u)
	if end.Type != jobFailed && len(pods) > 0 {
		return addNextPod(s.explainWorstPod(pods), u)
	}
	if end.Type != jobFailed {
		return s.explainPods(u)
	}
	failed, _, _ := unstructured.NestedString(u.Object, "status", "failedIndexes")
	if failed != "" {
		failed = "failed indexes: " + failed
	}
	reason := joinTexts(joinReason(end.Reason, end.Message), failed, s.explainWorstPod(pods))
	if len(pods) == 0 && s.err == nil && !hasExpired(u, time.Now()) {
		reason = joinTexts(reason, s.explainDeletedPods(u))
	}
	return reason
}

// podDeletion is the reason of the events of upstream's controllers about Pods that they have deleted.
const podDeletion = "SuccessfulDelete"

// explainDeletedPods says that the Pods of a Job that has failed were deleted; "" if it had none, as far as its status and its
// events say.
func (s *reasonSearch) explainDeletedPods(u *unstructured.Unstructured) string {
	defer s.ignoreErrors()()
	const deleted = "its Pods were deleted, with their logs"
	if s.latestEvent(u, func(e *corev1.Event) bool { return e.Reason == podDeletion }) != nil {
		return deleted + ", by the Job controller"
	}
	if failures, _, _ := unstructured.NestedInt64(u.Object, "status", "failed"); failures > 0 {
		return deleted
	}
	return ""
}

// explainNoChildren explains a workload without children.
func (s *reasonSearch) explainNoChildren(u *unstructured.Unstructured, what string) string {
	why := ""
	if kindOf(u) == jobKind {
		why = s.explainNoPod(u)
	}
	switch {
	case why != "":
	case s.hasCreatedChildren(u) && !s.isRefusedChildren(u):
		why = "those that its controller has created were deleted"
	default:
		if warning := s.lastWarning(u); warning != "" {
			return warning
		}
		why = "its controller has not created one"
	}
	return fmt.Sprintf("%s %s has no %s: %s", u.GetKind(), u.GetName(), what, why)
}

// isUnobserved reports whether the controller of u has not observed its latest change.
func isUnobserved(u *unstructured.Unstructured) bool {
	seen, ok, err := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	return err == nil && ok && seen != u.GetGeneration()
}
