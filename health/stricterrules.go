package health

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// stricterRules has the kinds of Kubernetes for which kstatus is too optimistic, or does not say that a failure is final. A rule
// corrects the state that kstatus has found.
var stricterRules = map[schema.GroupKind]func(*State, *unstructured.Unstructured){
	serviceKind:    (*State).applyServiceRule,
	apiServiceKind: (*State).applyAPIServiceRule,
	podKind:        (*State).applyPodRule,
	jobKind:        (*State).applyJobRule,
	autoscalerKind: (*State).applyAutoscalerRule,
	deploymentKind: (*State).applyDeploymentRule,
}

func (s *State) applyServiceRule(u *unstructured.Unstructured) {
	var svc corev1.Service
	if convertObject(u, &svc) == nil && svc.Spec.Type == corev1.ServiceTypeLoadBalancer && len(svc.Status.LoadBalancer.Ingress) == 0 {
		s.Status, s.Message = InProgress, "no external address"
	}
}

func (s *State) applyAPIServiceRule(u *unstructured.Unstructured) {
	if c, _ := findCondition(u, "Available"); c.Status != metav1.ConditionTrue {
		s.Status, s.Message = InProgress, describeReason("not available", c)
	}
}

func (s *State) applyPodRule(u *unstructured.Unstructured) {
	if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase == string(corev1.PodFailed) {
		s.Status, s.Message, s.Final = Failed, "Pod has failed", true
	} else if phase == string(corev1.PodPending) && s.Status == Failed { // kstatus: it has been unschedulable for 15 s
		s.Status = InProgress
	}
}

func (s *State) applyDeploymentRule(u *unstructured.Unstructured) {
	c, _ := findCondition(u, string(appsv1.DeploymentProgressing))
	s.Final = s.Status == Failed && c.Reason == progressDeadlineExceeded
}

func (s *State) applyJobRule(u *unstructured.Unstructured) {
	var job batchv1.Job
	err := convertObject(u, &job)
	end := jobEnd(&job)
	if s.Final = s.Status == Failed; s.Final { // kstatus has failed Pods per completions: "failed: 3/1"
		s.Message = describeReason("Job has failed", end)
		return
	}
	if end.Type != "" || s.Status != Current || err != nil {
		return
	}
	ready := int32(0)
	if job.Status.Ready != nil {
		ready = *job.Status.Ready
	}
	if active := job.Status.Active; active == 0 || ready < active {
		s.Status, s.Message = InProgress, fmt.Sprintf("Ready: %d/%d, failed: %d", ready, active, job.Status.Failed)
	}
}

// applyAutoscalerRule finds an autoscaler that cannot scale: its target does not exist, or has
// no metrics. One whose target has no replicas is off, as its user wants it.
func (s *State) applyAutoscalerRule(u *unstructured.Unstructured) {
	for _, kind := range []autoscalingv2.HorizontalPodAutoscalerConditionType{autoscalingv2.AbleToScale, autoscalingv2.ScalingActive} {
		c, found := findCondition(u, string(kind))
		if found && c.Status == metav1.ConditionFalse && c.Reason != "ScalingDisabled" {
			s.Status, s.Message = InProgress, words.OneLine(joinReason(c.Reason, c.Message))
			return
		}
	}
}
