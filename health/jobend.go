package health

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// jobFailed is the type of the condition with which a Job ends that has failed.
const jobFailed = string(batchv1.JobFailed)

// jobEnd returns the condition with which a Job has ended, Complete or Failed; zero if it has not.
func jobEnd(job *batchv1.Job) metav1.Condition {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return metav1.Condition{
				Type: string(c.Type), Status: metav1.ConditionTrue, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
			}
		}
	}
	return metav1.Condition{}
}

// readJobEnd is jobEnd of an object; zero also if it cannot be read.
func readJobEnd(u *unstructured.Unstructured) metav1.Condition {
	var job batchv1.Job
	if convertObject(u, &job) != nil {
		return metav1.Condition{}
	}
	return jobEnd(&job)
}
