package health

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
)

// skippedStart is the reason of the event about a start that concurrencyPolicy Forbid has skipped: upstream reports it nowhere else.
const skippedStart = "JobAlreadyActive"

// doubtCronJob says that no date matches the schedule of a CronJob, that its last start was skipped, or that its last Job to
// finish has failed.
func (s *reasonSearch) doubtCronJob(u *unstructured.Unstructured, cronJob *batchv1.CronJob) string {
	return joinTexts(doubtSchedule(cronJob), s.doubtSkippedStart(u, cronJob), s.doubtFailedJob(u))
}

// doubtSchedule says that a schedule never starts a Job, such as one for February 30th, which the API server accepts. A suspended
// CronJob starts none anyway.
func doubtSchedule(cronJob *batchv1.CronJob) string {
	if ptr.Deref(cronJob.Spec.Suspend, false) || !hasNoDate(cronJob.Spec.Schedule) {
		return ""
	}
	return fmt.Sprintf("its schedule %q never starts a Job: no date matches it", cronJob.Spec.Schedule)
}

// hasNoDate reports whether every day of a schedule is beyond the end of each of its months. One that restricts the days of the
// week, too, starts Jobs on these; "@daily", and a prefix "TZ=", have another number of fields. The parser of upstream is in a module
// that users of ctrlplanetest would have to require.
func hasNoDate(schedule string) bool {
	fields := strings.Fields(schedule)
	return len(fields) == 5 && (fields[4] == "*" || fields[4] == "?") && firstDay(fields[2]) > lastDay(fields[3])
}

// firstDay returns the first day of a list of days of the month, ranges and steps; 0 if that is not known.
func firstDay(days string) int {
	first := 31
	for days := range strings.SplitSeq(days, ",") {
		start, _, _ := strings.Cut(days, "/")
		start, _, _ = strings.Cut(start, "-")
		day, err := strconv.Atoi(start)
		if err != nil {
			return 0
		}
		first = min(first, day)
	}
	return first
}

// lastDay returns the last day of the longest of a list of months; 31 if that is not known, as for a range: nearly all have
// such a month.
func lastDay(months string) int {
	last := 0
	for month := range strings.SplitSeq(months, ",") {
		at, err := time.Parse("1", month)
		if err != nil {
			at, err = time.Parse("Jan", month)
		}
		if err != nil {
			return 31
		}
		last = max(last, time.Date(2000, at.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()) // day 0 is the last one of the month before
	}
	return last
}

func (s *reasonSearch) doubtSkippedStart(u *unstructured.Unstructured, cronJob *batchv1.CronJob) string {
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

// doubtFailedJob says why the last Job to finish has failed; "" if it has not.
func (s *reasonSearch) doubtFailedJob(u *unstructured.Unstructured) string {
	var last metav1.Condition
	name := ""
	for _, job := range s.listOwned(jobResource, u) {
		if end := readJobEnd(&job); end.LastTransitionTime.After(last.LastTransitionTime.Time) {
			last, name = end, job.GetName()
		}
	}
	if last.Type != jobFailed {
		return ""
	}
	return describeReason(fmt.Sprintf("its last Job to finish, %s, has failed", name), last)
}
