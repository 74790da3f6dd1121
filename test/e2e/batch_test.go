package e2e_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"
)

func jobs(ns string) batchv1client.JobInterface { return controlPlane.client.BatchV1().Jobs(ns) }

func newJob(name string, spec batchv1.JobSpec) *batchv1.Job {
	spec.Template = podTemplate(nil)
	spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
}

func jobCondition(j *batchv1.Job, kind batchv1.JobConditionType) batchv1.JobCondition {
	return find(j.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == kind })
}

// awaitActivePods waits until the Job has the given number of active Pods.
func awaitActivePods(t *testing.T, ns, job string, want int) []corev1.Pod {
	t.Helper()
	var active []corev1.Pod
	await(t, "active pods", listBySelector(pods(ns), batchv1.JobNameLabel+"="+job), func(l *corev1.PodList) bool {
		active = nil
		for _, p := range l.Items {
			if p.Status.Phase == corev1.PodPending || p.Status.Phase == corev1.PodRunning {
				active = append(active, p)
			}
		}
		return len(active) == want
	})
	return active
}

func TestJobCompletes(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	createObject(t, jobs(ns), newJob("work", batchv1.JobSpec{Completions: new(int32(3)), Parallelism: new(int32(2))}))
	active := awaitActivePods(t, ns, "work", 2)
	for _, p := range active {
		requireController(t, &p, "Job", "work")
	}
	await(t, "2 active pods in the status", getByName(jobs(ns), "work"), func(j *batchv1.Job) bool {
		return j.Status.Active == 2 && j.Status.StartTime != nil && *j.Status.Ready == 0
	})
	markReady(t, active...)
	await(t, "2 ready pods in the status", getByName(jobs(ns), "work"), func(j *batchv1.Job) bool { return *j.Status.Ready == 2 })

	// Of three completions one is done: the next Pod starts. After two, one is left.
	markPhase(t, corev1.PodSucceeded, active[0])
	await(t, "1 success and 2 active pods", getByName(jobs(ns), "work"), func(j *batchv1.Job) bool { return j.Status.Succeeded == 1 && j.Status.Active == 2 })
	markPhase(t, corev1.PodSucceeded, active[1])
	await(t, "2 successes and 1 active pod", getByName(jobs(ns), "work"), func(j *batchv1.Job) bool { return j.Status.Succeeded == 2 && j.Status.Active == 1 })
	markPhase(t, corev1.PodSucceeded, awaitActivePods(t, ns, "work", 1)...)
	j := await(t, "Complete condition", getByName(jobs(ns), "work"), func(j *batchv1.Job) bool {
		return jobCondition(j, batchv1.JobComplete).Status == corev1.ConditionTrue
	})
	if j.Status.Succeeded != 3 || j.Status.Active != 0 || j.Status.Failed != 0 || j.Status.CompletionTime == nil {
		t.Errorf("status of the complete job: %+v", j.Status)
	}
	if made := listObjects(t, pods(ns), ""); len(made.Items) != 3 {
		t.Errorf("%d pods were created, want 3", len(made.Items))
	}
	// The Job controller has removed its tracking finalizer from every Pod.
	for _, p := range listObjects(t, pods(ns), "").Items {
		if len(p.Finalizers) != 0 {
			t.Errorf("pod %s has finalizers %v", p.Name, p.Finalizers)
		}
	}
	awaitEvent(t, ns, "Job", "work", "Completed")
}

func TestJobRetriesAndFails(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	createObject(t, jobs(ns), newJob("work", batchv1.JobSpec{BackoffLimit: new(int32(1))}))
	first := awaitActivePods(t, ns, "work", 1)
	markPhase(t, corev1.PodFailed, first...)
	await(t, "1 failure", getByName(jobs(ns), "work"), func(j *batchv1.Job) bool { return j.Status.Failed == 1 })

	second := awaitActivePods(t, ns, "work", 1) // after a back-off of 10 s
	if second[0].UID == first[0].UID {
		t.Fatal("the failed pod is active")
	}
	if j := getObject(t, jobs(ns), "work"); len(j.Status.Conditions) != 0 {
		t.Errorf("conditions after one failure: %v", j.Status.Conditions)
	}
	markPhase(t, corev1.PodFailed, second...)
	j := await(t, "Failed condition", getByName(jobs(ns), "work"), func(j *batchv1.Job) bool {
		return jobCondition(j, batchv1.JobFailed).Status == corev1.ConditionTrue
	})
	if c := jobCondition(j, batchv1.JobFailed); c.Reason != batchv1.JobReasonBackoffLimitExceeded || j.Status.Failed != 2 || j.Status.Succeeded != 0 || j.Status.CompletionTime != nil {
		t.Errorf("failed with %+v, status %+v", c, j.Status)
	}
}

// A matching rule of a Pod failure policy fails the Job at once, before the backoff
// limit is reached.
func TestJobPodFailurePolicy(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	createObject(t, jobs(ns), newJob("work", batchv1.JobSpec{
		BackoffLimit: new(int32(3)),
		PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action:      batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}},
		}}},
	}))
	p := awaitActivePods(t, ns, "work", 1)[0]
	updateObjectStatus(t, pods(ns), p.Name, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 42, FinishedAt: metav1.Now()}},
		}}
	})
	j := await(t, "Failed condition", getByName(jobs(ns), "work"), func(j *batchv1.Job) bool {
		return jobCondition(j, batchv1.JobFailed).Status == corev1.ConditionTrue
	})
	if c := jobCondition(j, batchv1.JobFailed); c.Reason != batchv1.JobReasonPodFailurePolicy || j.Status.Failed != 1 {
		t.Errorf("failed with %+v, %d failures", c, j.Status.Failed)
	}
}

func TestJobSuspend(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	createObject(t, jobs(ns), newJob("work", batchv1.JobSpec{Suspend: new(true), Completions: new(int32(2)), Parallelism: new(int32(2)), CompletionMode: new(batchv1.IndexedCompletion)}))
	await(t, "Suspended condition", getByName(jobs(ns), "work"), func(j *batchv1.Job) bool {
		return jobCondition(j, batchv1.JobSuspended).Status == corev1.ConditionTrue
	})
	if made := listObjects(t, pods(ns), ""); len(made.Items) != 0 {
		t.Errorf("a suspended job has %d pods", len(made.Items))
	}
	updateObject(t, jobs(ns), "work", func(j *batchv1.Job) { j.Spec.Suspend = new(false) })
	indexes := map[string]bool{}
	for _, p := range awaitActivePods(t, ns, "work", 2) {
		indexes[p.Annotations[batchv1.JobCompletionIndexAnnotation]] = true
	}
	if !indexes["0"] || !indexes["1"] {
		t.Errorf("indexes of the pods: %v", indexes)
	}
	updateObject(t, jobs(ns), "work", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })
	awaitActivePods(t, ns, "work", 0)
}

func TestTTLAfterFinished(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	createObject(t, jobs(ns), newJob("brief", batchv1.JobSpec{})) // its TTL could end before its CompletionTime is read
	createObject(t, jobs(ns), newJob("kept", batchv1.JobSpec{}))
	var finished time.Time
	for _, name := range []string{"brief", "kept"} {
		markPhase(t, corev1.PodSucceeded, awaitActivePods(t, ns, name, 1)...)
		j := await(t, "Complete condition of "+name, getByName(jobs(ns), name), func(j *batchv1.Job) bool { return j.Status.CompletionTime != nil })
		if name == "brief" {
			finished = j.Status.CompletionTime.Time
		}
	}
	updateObject(t, jobs(ns), "brief", func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = new(int32(1)) })
	awaitGone(t, "brief job", getByName(jobs(ns), "brief"))
	if took := time.Since(finished); took < time.Second {
		t.Errorf("deleted %v after it finished, want 1s or more", took)
	}
	await(t, "end of its pods", listBySelector(pods(ns), batchv1.JobNameLabel+"=brief"), func(l *corev1.PodList) bool { return len(l.Items) == 0 })
	getObject(t, jobs(ns), "kept")
}
