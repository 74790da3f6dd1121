package health

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// Status is the status of an object as defined by kstatus.
type Status = status.Status

// The statuses of an object.
const (
	Current     = status.CurrentStatus // healthy
	InProgress  = status.InProgressStatus
	Failed      = status.FailedStatus
	Terminating = status.TerminatingStatus
	NotFound    = status.NotFoundStatus
	Unknown     = status.UnknownStatus
)

// State is the state of an object.
type State struct {
	Ref     Ref
	Status  Status
	Message string // one line
	// Final is set if the object cannot become healthy without a change, and for a Deployment whose rollout has
	// exceeded its deadline, as for "kubectl rollout status": that may still recover.
	Final bool
	// Doubt says what makes it doubtful that an object is healthy whose Status is Current: that of a custom resource "its
	// condition Reconciled is False: …", which kstatus does not know. That of kinds of Kubernetes, such as a Service without a
	// ready endpoint, for which Wait does not wait, is set by Examine and for Options.Doubtful only.
	Doubt string
	// Unreported is set for a custom resource whose status no client has written, or not since its last change, though its
	// kind has one: that kind, as RESOURCE.GROUP. Only Wait and Examine set it.
	Unreported string
	// Created is when an object whose status no client has written was created; zero for others.
	Created time.Time
	// Suspended is the field that suspends the object, such as spec.suspend; empty if none does. Only Examine sets it.
	Suspended string
	// Owner is the object that controls the object; zero if none does. Only Examine sets it.
	Owner Ref
	// Deletion is what an object waits for that is being deleted; else nil. Only Examine sets it.
	Deletion *Deletion
	// Node is the node of the Pod that the reason names, or the object itself if it is a Node; empty if neither. It is set with
	// the reason, and by Examine also for a Pod or a Node that is healthy.
	Node string
	// Log is the log that may say why a container has ended, or what an init container waits for, if that is the reason; else
	// nil. Failing is the ReplicaSet whose controller cannot create Pods, if that is the reason; else zero. Both are set
	// with the reason only.
	Log     *ContainerLog
	Failing Ref
}

// ContainerLog names the log of a run of a container.
type ContainerLog struct {
	Namespace, Pod string
	Container      string // empty if the Pod has only one
	Previous       bool   // of the run before the current one
}

// Problem says in a sentence what is wrong with an object; "" if nothing is, or if it does not
// exist.
func (s State) Problem() string {
	sentence := func(parts ...string) string {
		return strings.TrimSuffix(strings.TrimRight(strings.Join(parts, ": "), ": "), ".") + "."
	}
	switch {
	case s.Doubt != "":
		return sentence("I" + s.Doubt[1:])
	case s.Status == Current, s.Status == NotFound:
		return ""
	case s.Status == Terminating:
		return sentence("It is " + s.Message)
	case s.Status == Unknown:
		return sentence("Whether it is ready is not known", s.Message)
	}
	return sentence("It is not ready", s.Message)
}

// StateOf returns the state of an object, of a Job that its time to live deletes that before.
func StateOf(u *unstructured.Unstructured) State {
	s := State{Ref: RefOf(u)}
	u = beforeExpiry(u)
	result, err := status.Compute(u)
	if err != nil {
		s.judgeUnreadable(u)
	} else {
		s.setResult(u, result)
	}
	return s
}

// setResult sets the state that kstatus has found, with our own rules.
func (s *State) setResult(u *unstructured.Unstructured, r *status.Result) {
	s.Status, s.Message = r.Status, resultMessage(u, r)
	s.applyCustomRule(u)
	s.Message = words.OneLine(s.Message)
	if s.Status != Terminating {
		s.applyStricterRules(u)
	}
	s.addDoubt(u)
}

// resultMessage returns the message of a result. If it is the message of one of the
// object's conditions, it includes the reason, and those of the conditions that it names. For kinds of Kubernetes, kstatus makes up
// a condition, whose reason is left out.
func resultMessage(u *unstructured.Unstructured, r *status.Result) string {
	if status.GetLegacyConditionsFn(u) == nil && len(r.Conditions) == 1 && r.Conditions[0].Message == r.Message {
		return joinReason(r.Conditions[0].Reason, expandConditions(u, r.Message))
	}
	return r.Message
}

// conditionPairs matches what operators with operatorpkg, such as Karpenter, have as the message of Ready: the other
// conditions that are not true, without their reasons.
var conditionPairs = regexp.MustCompile(`^[A-Za-z][\w./-]*=(False|Unknown)(, [A-Za-z][\w./-]*=(False|Unknown))*$`)

// expandConditions adds the reasons and messages of the conditions that a message of TYPE=STATUS pairs lists.
func expandConditions(u *unstructured.Unstructured, message string) string {
	if !conditionPairs.MatchString(message) {
		return message
	}
	pairs := strings.Split(message, ", ")
	for i, pair := range pairs {
		kind, stands, _ := strings.Cut(pair, "=")
		if c, found := findCondition(u, kind); found && string(c.Status) == stands {
			pairs[i] = joinReason(pair, strings.TrimSuffix(joinReason(c.Reason, c.Message), "."))
		}
	}
	return strings.Join(pairs, "; ")
}

var (
	serviceKind    = schema.GroupKind{Kind: "Service"}
	namespaceKind  = schema.GroupKind{Kind: "Namespace"}
	nodeKind       = schema.GroupKind{Kind: "Node"}
	podKind        = schema.GroupKind{Kind: "Pod"}
	claimKind      = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	volumeKind     = schema.GroupKind{Kind: "PersistentVolume"}
	jobKind        = schema.GroupKind{Group: "batch", Kind: "Job"}
	deploymentKind = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	apiServiceKind = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
	crdKind        = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	hpaKind        = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
)

// applyStricterRules corrects the status of kinds for which kstatus is too optimistic,
// and sets Final.
func (s *State) applyStricterRules(u *unstructured.Unstructured) {
	switch s.Ref.GroupKind() {
	case serviceKind:
		var svc corev1.Service
		if convertObject(u, &svc) == nil && svc.Spec.Type == corev1.ServiceTypeLoadBalancer && len(svc.Status.LoadBalancer.Ingress) == 0 {
			s.Status, s.Message = InProgress, "no external address"
		}
	case apiServiceKind:
		if c, ok := findCondition(u, "Available"); !ok || c.Status != metav1.ConditionTrue {
			s.Status, s.Message = InProgress, "not available"
			if why := words.OneLine(joinReason(c.Reason, c.Message)); why != "" {
				s.Message += ": " + why
			}
		}
	case podKind:
		if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase == string(corev1.PodFailed) {
			s.Status, s.Message, s.Final = Failed, "Pod has failed", true
		} else if phase == string(corev1.PodPending) && s.Status == Failed { // kstatus: it has been unschedulable for 15 s
			s.Status = InProgress
		}
	case jobKind:
		s.applyJobRules(u)
	case hpaKind:
		s.applyAutoscalerRules(u)
	case deploymentKind:
		c, _ := findCondition(u, string(appsv1.DeploymentProgressing))
		s.Final = s.Status == Failed && c.Reason == progressDeadlineExceeded
	}
}

func (s *State) applyJobRules(u *unstructured.Unstructured) {
	if s.Final = s.Status == Failed; s.Final { // kstatus has failed Pods per completions: "failed: 3/1"
		c, _ := findCondition(u, string(batchv1.JobFailed))
		s.Message = "Job has failed"
		if why := words.OneLine(joinReason(c.Reason, c.Message)); why != "" {
			s.Message += ": " + why
		}
		return
	}
	var job batchv1.Job
	if c, _ := findCondition(u, string(batchv1.JobComplete)); c.Status == metav1.ConditionTrue || s.Status != Current || convertObject(u, &job) != nil {
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

// applyAutoscalerRules finds an autoscaler that cannot scale: its target does not exist, or has
// no metrics. One whose target has no replicas is off, as its user wants it.
func (s *State) applyAutoscalerRules(u *unstructured.Unstructured) {
	for _, kind := range []autoscalingv2.HorizontalPodAutoscalerConditionType{autoscalingv2.AbleToScale, autoscalingv2.ScalingActive} {
		c, found := findCondition(u, string(kind))
		if found && c.Status == metav1.ConditionFalse && c.Reason != "ScalingDisabled" {
			s.Status, s.Message = InProgress, words.OneLine(joinReason(c.Reason, c.Message))
			return
		}
	}
}

// findCondition returns a condition of status.conditions.
func findCondition(u *unstructured.Unstructured, kind string) (metav1.Condition, bool) {
	for _, c := range readConditions(u) {
		if c.Type == kind {
			return c, true
		}
	}
	return metav1.Condition{}, false
}

func readConditions(u *unstructured.Unstructured) []metav1.Condition {
	found, err := status.GetObjectWithConditions(u.Object)
	if err != nil {
		return nil // the conditions have an unknown form
	}
	list := make([]metav1.Condition, len(found.Status.Conditions))
	for i, c := range found.Status.Conditions {
		list[i] = metav1.Condition{Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message}
	}
	return list
}

// joinReason returns "REASON: MESSAGE", or the one that is not empty.
func joinReason(reason, message string) string {
	message = strings.TrimRight(message, ": \n") // a probe may have no output
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}
