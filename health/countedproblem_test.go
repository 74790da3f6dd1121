package health

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestProblemOf(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	pod := func(phase corev1.PodPhase, s ...corev1.ContainerStatus) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: phase, ContainerStatuses: s}}
	}
	waiting := func(reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
	}
	condition := func(p *corev1.Pod, kind corev1.PodConditionType, reason string) *corev1.Pod {
		p.Status.Conditions = []corev1.PodCondition{{Type: kind, Status: corev1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.NewTime(began)}}
		return p
	}
	owned := pod(corev1.PodFailed)
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "j", Controller: new(true)}}
	deleted := pod(corev1.PodPending, waiting("ImagePullBackOff"))
	deleted.DeletionTimestamp = &metav1.Time{Time: began}
	crashed := waiting("CrashLoopBackOff")
	crashed.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
	job := func(kind batchv1.JobConditionType) *batchv1.Job {
		return &batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue}}}}
	}
	node := func(ready corev1.ConditionStatus, created time.Duration) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(began.Add(created))}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(began)}},
		}}
	}
	removed := node(corev1.ConditionUnknown, -time.Hour)
	removed.DeletionTimestamp = &metav1.Time{Time: began}
	for name, test := range map[string]struct {
		of    any
		after time.Duration
		want  observe.ProblemKind
		due   bool
	}{
		"a Pod that runs":                     {of: pod(corev1.PodRunning, corev1.ContainerStatus{Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})},
		"a missing ConfigMap":                 {of: pod(corev1.PodPending, waiting("CreateContainerConfigError")), want: observe.CannotStart},
		"a missing image":                     {of: pod(corev1.PodPending, waiting("ImagePullBackOff")), want: observe.CannotStart},
		"a crash loop":                        {of: pod(corev1.PodRunning, crashed), want: observe.WaitsForRestart},
		"a start":                             {of: pod(corev1.PodPending, waiting("ContainerCreating"))},
		"a volume that is being mounted":      {of: condition(pod(corev1.PodPending, waiting("ContainerCreating")), corev1.PodReadyToStartContainers, ""), after: time.Second, due: true},
		"a volume that cannot be mounted":     {of: condition(pod(corev1.PodPending, waiting("ContainerCreating")), corev1.PodReadyToStartContainers, ""), after: maxStart, want: observe.CannotStart},
		"unschedulable":                       {of: condition(&corev1.Pod{}, corev1.PodScheduled, corev1.PodReasonUnschedulable), want: observe.Unschedulable},
		"gated":                               {of: condition(&corev1.Pod{}, corev1.PodScheduled, corev1.PodReasonSchedulingGated)},
		"a Pod that has failed":               {of: pod(corev1.PodFailed), want: observe.HasFailed},
		"one that its controller may replace": {of: owned},
		"one that is being deleted":           {of: deleted},
		"a Job that has failed":               {of: job(batchv1.JobFailed), want: observe.HasFailed},
		"a Job that is complete":              {of: job(batchv1.JobComplete)},
		"a Node that is ready":                {of: node(corev1.ConditionTrue, -time.Hour), after: time.Hour},
		"one that has just failed":            {of: node(corev1.ConditionUnknown, -time.Hour), after: maxUnready - time.Second, due: true},
		"one that has failed":                 {of: node(corev1.ConditionUnknown, -time.Hour), after: maxUnready, want: observe.NotReady},
		"one whose kubelet says so":           {of: node(corev1.ConditionFalse, -time.Hour), after: maxUnready, want: observe.NotReady},
		"a new Node with an old condition":    {of: node(corev1.ConditionFalse, time.Hour), after: time.Hour, due: true},
		"one without a kubelet":               {of: &corev1.Node{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(began)}}, after: time.Hour},
		"a Node that is being deleted":        {of: removed, after: time.Hour},
		"another kind":                        {of: &corev1.Service{}},
	} {
		got, due := ProblemOf(test.of, began.Add(test.after))
		if u := convertToUnstructured(t, test.of); got != "" && StateOf(u).Status == Current {
			t.Errorf("%s: %q, and the object is healthy", name, got)
		}
		if got != test.want || due.IsZero() == test.due {
			t.Errorf("%s: %q, due %v; want %q", name, got, due, test.want)
		}
	}
}

func convertToUnstructured(t *testing.T, obj any) *unstructured.Unstructured {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	kinds, _, err := clientgoscheme.Scheme.ObjectKinds(obj.(runtime.Object))
	if err != nil {
		t.Fatal(err)
	}
	u.SetGroupVersionKind(kinds[0])
	return u
}

func BenchmarkProblemOf(b *testing.B) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "c", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}}}
	for b.Loop() {
		ProblemOf(pod, time.Time{})
	}
}
