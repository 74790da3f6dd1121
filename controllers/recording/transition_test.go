package recording

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestTransitionOf(t *testing.T) {
	node := func(ready corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: ready}}}}
	}
	pod := func(phase corev1.PodPhase, ready corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Phase: phase, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: ready}}}}
	}
	job := func(conditions ...batchv1.JobConditionType) *batchv1.Job {
		var j batchv1.Job
		for _, c := range conditions {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: c, Status: corev1.ConditionTrue})
		}
		return &j
	}
	cordoned := func(n *corev1.Node) *corev1.Node {
		n.Spec.Unschedulable = true
		return n
	}
	claim := func(phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: phase}}
	}
	const yes, no, unknown = corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown
	for name, tc := range map[string]struct {
		before, after any
		want          observe.Transition
	}{
		"a Pod without conditions":             {&corev1.Pod{}, pod(corev1.PodPending, no), ""},
		"a Pod that starts":                    {pod(corev1.PodPending, no), pod(corev1.PodRunning, yes), observe.BecameReady},
		"a Pod that runs only":                 {pod(corev1.PodPending, no), pod(corev1.PodRunning, no), ""},
		"a Pod that stays Ready":               {pod(corev1.PodRunning, yes), pod(corev1.PodRunning, yes), ""},
		"a Pod whose probe fails":              {pod(corev1.PodRunning, yes), pod(corev1.PodRunning, no), observe.BecameNotReady},
		"a Pod that completes":                 {pod(corev1.PodRunning, yes), pod(corev1.PodSucceeded, no), observe.BecameSucceeded},
		"a Pod that fails":                     {pod(corev1.PodRunning, no), pod(corev1.PodFailed, no), observe.BecameFailed},
		"a Pod that has failed":                {pod(corev1.PodFailed, yes), pod(corev1.PodFailed, yes), ""},
		"a Node that registers":                {&corev1.Node{}, node(yes), observe.BecameReady},
		"a Node that is not heard of":          {node(yes), node(unknown), observe.BecameNotReady},
		"a Node that is cordoned":              {node(yes), cordoned(node(yes)), observe.BecameUnschedulable},
		"a Node that is uncordoned":            {cordoned(node(yes)), node(yes), observe.BecameSchedulable},
		"a cordoned Node that is not heard of": {node(yes), cordoned(node(unknown)), observe.BecameNotReady},
		"a claim that is bound":                {claim(corev1.ClaimPending), claim(corev1.ClaimBound), observe.BecameBound},
		"a claim that stays bound":             {claim(corev1.ClaimBound), claim(corev1.ClaimBound), ""},
		"a claim whose volume is lost":         {claim(corev1.ClaimBound), claim(corev1.ClaimLost), ""},
		"a heartbeat":                          {node(yes), node(yes), ""},
		"a Job that is suspended":              {job(), job(batchv1.JobSuspended), ""},
		"a Job that is to succeed":             {job(), job(batchv1.JobSuccessCriteriaMet), ""},
		"a Job that completes":                 {job(batchv1.JobSuccessCriteriaMet), job(batchv1.JobSuccessCriteriaMet, batchv1.JobComplete), observe.BecameSucceeded},
		"a Job that fails":                     {job(batchv1.JobFailureTarget), job(batchv1.JobFailureTarget, batchv1.JobFailed), observe.BecameFailed},
		"a Job that has completed":             {job(batchv1.JobComplete), job(batchv1.JobComplete), ""},
		"something else":                       {&corev1.Service{}, &corev1.Service{}, ""},
		"an unknown version":                   {nil, pod(corev1.PodRunning, yes), ""},
	} {
		if got := transitionOf(tc.before, tc.after); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
