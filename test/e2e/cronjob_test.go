package e2e_test

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"
)

func cronJobs(ns string) batchv1client.CronJobInterface {
	return controlPlane.client.BatchV1().CronJobs(ns)
}

// createDueCronJob creates a CronJob that has been due for five minutes, and is due again in a
// day: suspended, with its last run three days ago, and then resumed.
func createDueCronJob(t *testing.T, ns string, spec batchv1.CronJobSpec, running ...batchv1.Job) (due time.Time) {
	t.Helper()
	due = time.Now().UTC().Add(-5 * time.Minute).Truncate(time.Minute)
	spec.Schedule, spec.TimeZone = fmt.Sprintf("%d %d * * *", due.Minute(), due.Hour()), new("UTC")
	spec.Suspend = new(true)
	spec.JobTemplate.Labels = map[string]string{"cron": "tick"}
	spec.JobTemplate.Spec = newJob("", batchv1.JobSpec{}).Spec
	c := createObject(t, cronJobs(ns), &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "tick"}, Spec: spec})
	for _, j := range running {
		updateObject(t, jobs(ns), j.Name, func(j *batchv1.Job) {
			j.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(c, batchv1.SchemeGroupVersion.WithKind("CronJob"))}
		})
	}
	updateObjectStatus(t, cronJobs(ns), "tick", func(c *batchv1.CronJob) {
		c.Status.LastScheduleTime = new(metav1.NewTime(due.AddDate(0, 0, -3)))
		for _, j := range running {
			c.Status.Active = append(c.Status.Active, corev1.ObjectReference{Kind: "Job", APIVersion: "batch/v1", Namespace: ns, Name: j.Name, UID: j.UID})
		}
	})
	updateObject(t, cronJobs(ns), "tick", func(c *batchv1.CronJob) { c.Spec.Suspend = new(false) })
	return due
}

func TestCronJob(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	due := createDueCronJob(t, ns, batchv1.CronJobSpec{})
	// One run makes up for all that were missed.
	run := await(t, "the job that is due", listBySelector(jobs(ns), "cron=tick"), func(l *batchv1.JobList) bool { return len(l.Items) == 1 }).Items[0]
	requireController(t, &run, "CronJob", "tick")
	scheduled, err := time.Parse(time.RFC3339, run.Annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"])
	if err != nil || !scheduled.Equal(due) {
		t.Errorf("the job is scheduled for %v (%v), want %v", scheduled, err, due)
	}
	c := await(t, "status of the run", getByName(cronJobs(ns), "tick"), func(c *batchv1.CronJob) bool { return len(c.Status.Active) == 1 })
	if c.Status.Active[0].UID != run.UID || !c.Status.LastScheduleTime.Time.Equal(scheduled) {
		t.Errorf("status %+v, want job %s of %v", c.Status, run.Name, scheduled)
	}
	awaitEvent(t, ns, "CronJob", "tick", "SuccessfulCreate")

	markPhase(t, corev1.PodSucceeded, awaitActivePods(t, ns, run.Name, 1)...)
	c = await(t, "status of the success", getByName(cronJobs(ns), "tick"), func(c *batchv1.CronJob) bool {
		return len(c.Status.Active) == 0 && c.Status.LastSuccessfulTime != nil
	})
	if c.Status.LastSuccessfulTime.Before(c.Status.LastScheduleTime) {
		t.Errorf("status: %s", toYAML(c.Status))
	}
	awaitEvent(t, ns, "CronJob", "tick", "SawCompletedJob")
	updateObject(t, cronJobs(ns), "tick", func(c *batchv1.CronJob) { c.Spec.SuccessfulJobsHistoryLimit = new(int32(0)) })
	awaitGone(t, "the job beyond the history limit", getByName(jobs(ns), run.Name))
}

// The concurrency policy decides whether a run that is due waits for an active one
// or replaces it.
func TestCronJobConcurrency(t *testing.T) {
	t.Parallel()
	for _, policy := range []batchv1.ConcurrencyPolicy{batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			ns := createNamespace(t)
			running := createObject(t, jobs(ns), newJob("running", batchv1.JobSpec{}))
			createDueCronJob(t, ns, batchv1.CronJobSpec{ConcurrencyPolicy: policy}, *running)
			if policy == batchv1.ForbidConcurrent {
				awaitEvent(t, ns, "CronJob", "tick", "JobAlreadyActive")
				if l := listObjects(t, jobs(ns), "cron=tick"); len(l.Items) != 0 {
					t.Errorf("%d jobs were created beside the active one", len(l.Items))
				}
				return
			}
			awaitGone(t, "the job that is replaced", getByName(jobs(ns), "running"))
			await(t, "the job in its place", listBySelector(jobs(ns), "cron=tick"), func(l *batchv1.JobList) bool { return len(l.Items) == 1 })
		})
	}
}
