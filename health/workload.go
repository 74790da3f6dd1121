package health

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// deployment looks at the newest ReplicaSet.
func (s *search) deployment(u *unstructured.Unstructured) string {
	if unobserved(u) {
		return ""
	}
	newest := newestOf(s.owned(appsv1.SchemeGroupVersion.WithResource("replicasets"), u))
	if newest != nil && Of(newest).Status != Current {
		return s.replicaSet(newest)
	}
	paused, _, _ := unstructured.NestedBool(u.Object, "spec", "paused")
	switch {
	case paused:
		return Of(u).Message + "; it is paused: spec.paused is true"
	case newest == nil && s.err == nil:
		return s.idle(u, "ReplicaSet")
	}
	return "" // the old ones are why, of which the Deployment itself tells
}

// newestOf is the ReplicaSet of the latest revision.
func newestOf(sets []unstructured.Unstructured) *unstructured.Unstructured {
	var found *unstructured.Unstructured
	latest := -1
	for i := range sets {
		// What has none yet has just been made; 0 is before all others.
		revision, err := strconv.Atoi(sets[i].GetAnnotations()["deployment.kubernetes.io/revision"])
		if err != nil {
			revision = 0
		}
		if revision > latest {
			found, latest = &sets[i], revision
		}
	}
	return found
}

// replicaSet says why Pods cannot be made, or what ails them.
func (s *search) replicaSet(u *unstructured.Unstructured) string {
	if c, _ := condition(u, string(appsv1.ReplicaSetReplicaFailure)); c.Status == metav1.ConditionTrue {
		return fmt.Sprintf("%s %s: %s", u.GetKind(), u.GetName(), because(c.Reason, c.Message))
	}
	return s.pods(u)
}

// job tells of one that has failed, is suspended, or waits for its Pods.
func (s *search) job(u *unstructured.Unstructured) string {
	if c, _ := condition(u, string(batchv1.JobSuspended)); c.Status == metav1.ConditionTrue {
		return "it is suspended: spec.suspend is true"
	}
	c, _ := condition(u, string(batchv1.JobFailed))
	if c.Status != metav1.ConditionTrue {
		return s.pods(u)
	}
	reason := because(c.Reason, c.Message)
	if pods := s.ailing(u); pods != "" {
		reason += "; " + pods
	}
	return reason
}

// idle tells that a workload has nothing to look at, and why that may be.
func (s *search) idle(u *unstructured.Unstructured, what string) string {
	if warning := s.warning(u); warning != "" {
		return warning
	}
	return fmt.Sprintf("%s %s has no %s: its controller has not made any", u.GetKind(), u.GetName(), what)
}

// unobserved tells whether the controller of u has yet to see its latest change.
func unobserved(u *unstructured.Unstructured) bool {
	seen, ok, err := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	return err == nil && ok && seen != u.GetGeneration()
}
