package health

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// skippedStart is the reason of the event about a start that concurrencyPolicy Forbid has skipped: upstream reports it nowhere else.
const skippedStart = "JobAlreadyActive"

// explainCronJob says that the last start of a CronJob was skipped, or that its last Job to finish has failed.
func (s *reasonSearch) explainCronJob(u *unstructured.Unstructured, cronJob *batchv1.CronJob) string {
	return joinTexts(s.explainSkippedStart(u, cronJob), s.explainFailedJob(u))
}

func (s *reasonSearch) explainSkippedStart(u *unstructured.Unstructured, cronJob *batchv1.CronJob) string {
	last := s.latestEvent(u, func(e *corev1.Event) bool { return e.Reason == skippedStart })
	if last == nil || len(cronJob.Status.Active) == 0 || cronJob.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent {
		return ""
	}
	active := cronJob.Status.Active[0].Name
	for _, job := range s.listOwned(jobResource, u) {
		// The start may only have been late: upstream reports it as long as the Job before is active, and then makes its Job.
		if created := job.GetCreationTimestamp(); job.GetName() == active && eventTime(last).After(created.Time) {
			return fmt.Sprintf("its last start was skipped: Job %s is active and concurrencyPolicy is Forbid", active)
		}
	}
	return ""
}

// explainFailedJob says why the last Job to finish has failed; "" if it has not.
func (s *reasonSearch) explainFailedJob(u *unstructured.Unstructured) string {
	var last *unstructured.Unstructured
	var at time.Time
	for _, job := range s.listOwned(jobResource, u) {
		if finished := finishTime(&job); finished.After(at) {
			last, at = &job, finished
		}
	}
	if last == nil {
		return ""
	}
	c, _ := findCondition(last, string(batchv1.JobFailed))
	if c.Status != metav1.ConditionTrue {
		return ""
	}
	return words.OneLine(fmt.Sprintf("its last Job to finish, %s, has failed: %s", last.GetName(), joinReason(c.Reason, c.Message)))
}

// finishTime returns when a Job has succeeded or failed; zero if it has not.
func finishTime(u *unstructured.Unstructured) time.Time {
	var job batchv1.Job
	if convertObject(u, &job) != nil {
		return time.Time{}
	}
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
