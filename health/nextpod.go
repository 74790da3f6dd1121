package health

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// These are constants of upstream's Job controller, which this package must not import: after a Pod has failed, the next one is
// created after podBackoff, which doubles with each failure up to maxPodBackoff.
const (
	podBackoff    = 10 * time.Second
	maxPodBackoff = 10 * time.Minute
)

// podCreation is the reason of the events of upstream's controllers about Pods that they have created.
const podCreation = "SuccessfulCreate"

// explainNoPod explains a Job without a Pod; "" if all that is known is that it has none.
func (s *reasonSearch) explainNoPod(u *unstructured.Unstructured) string {
	var job batchv1.Job
	if convertObject(u, &job) != nil {
		return ""
	}
	by := job.Spec.ManagedBy
	switch {
	case by != nil && *by != batchv1.JobControllerName:
		return "the Job controller ignores it, as spec.managedBy names another controller: " + *by
	case job.Spec.Parallelism != nil && *job.Spec.Parallelism == 0:
		return "spec.parallelism is 0, which pauses it until that is increased"
	case s.isRefusedChildren(u):
		return ""
	case awaitsNextPod(&job):
		failed := words.Count(int(job.Status.Failed), "Pod") + " failed or were deleted"
		last := "the last of them"
		if job.Status.Failed == 1 {
			failed, last = "1 Pod failed or was deleted", "that"
		}
		return fmt.Sprintf("%s; the Job controller creates the next one %s after %s", failed, describeBackoff(&job), last)
	case s.hasCreatedChildren(u): // which a podFailurePolicy does not count
		return fmt.Sprintf("its Pods failed or were deleted; the Job controller creates the next one at most %s after the last of them", describeWait(maxPodBackoff))
	}
	return ""
}

// isRefusedChildren reports whether the last that is known of the Pods of a workload is that they cannot be created. Events of the
// same second have no order.
func (s *reasonSearch) isRefusedChildren(u *unstructured.Unstructured) bool {
	refused, created := s.latestEvent(u, isWarning), s.latestEvent(u, isPodCreation)
	return refused != nil && (created == nil || !eventTime(refused).Before(eventTime(created)))
}

// hasCreatedChildren reports whether the controller of a workload has created a Pod for it.
func (s *reasonSearch) hasCreatedChildren(u *unstructured.Unstructured) bool {
	return s.latestEvent(u, isPodCreation) != nil
}

// isPodCreation reports whether an event is about a Pod that a controller has created. That of StatefulSets writes the same about
// claims.
func isPodCreation(e *corev1.Event) bool {
	return e.Reason == podCreation && !strings.HasPrefix(e.Message, "create Claim ")
}

// addNextPod adds to the reason why the last Pod of a Job has failed when the next one is created.
func addNextPod(reason string, u *unstructured.Unstructured) string {
	var job batchv1.Job
	if reason == "" || convertObject(u, &job) != nil || !awaitsNextPod(&job) {
		return reason
	}
	return joinTexts(reason, fmt.Sprintf("the Job controller creates the next Pod %s after the last failure", describeBackoff(&job)))
}

// awaitsNextPod reports whether all Pods of a Job have failed and the next one is created after a backoff.
func awaitsNextPod(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue { // it is suspended, or about to fail or to succeed
			return false
		}
	}
	by, limit, parallelism := job.Spec.ManagedBy, job.Spec.BackoffLimit, job.Spec.Parallelism
	switch {
	case by != nil && *by != batchv1.JobControllerName, parallelism != nil && *parallelism == 0, job.Status.Active > 0:
		return false
	case limit != nil && job.Status.Failed > *limit && job.Spec.BackoffLimitPerIndex == nil:
		return false
	}
	return job.Status.Failed > 0
}

// describeBackoff says how long after the last failure the next Pod of a Job is created at the latest. The controller counts the
// failures since the last success, or those of each index, and since its own start; and also those that a podFailurePolicy ignores,
// which the status does not count.
func describeBackoff(job *batchv1.Job) string {
	backoff := podBackoff
	for i := int32(1); i < job.Status.Failed && backoff < maxPodBackoff; i++ {
		backoff *= 2
	}
	if backoff = min(backoff, maxPodBackoff); job.Spec.PodFailurePolicy != nil {
		backoff = maxPodBackoff
	}
	return "at most " + describeWait(backoff)
}

// describeWait formats a whole number of seconds.
func describeWait(d time.Duration) string {
	if m := d.Truncate(time.Minute); m == d {
		return fmt.Sprintf("%d min", int(m.Minutes()))
	}
	return fmt.Sprintf("%d s", int(d.Seconds()))
}
