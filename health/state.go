package health

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
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
	// Resource is that of the kind, as RESOURCE.GROUP, which cannot be guessed from it. Only Wait sets it.
	Resource string
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
		return sentence(strings.ToUpper(s.Doubt[:1]) + s.Doubt[1:])
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
	s.addSuspension(u)
	return s
}

// setResult sets the state that kstatus has found, with our own rules.
func (s *State) setResult(u *unstructured.Unstructured, r *status.Result) {
	s.Status, s.Message = r.Status, resultMessage(u, r)
	s.applyCustomRule(u)
	s.Message = words.OneLine(s.Message)
	if apply := stricterRules[kindOf(u)]; apply != nil && s.Status != Terminating {
		apply(s, u)
	}
	s.addConditionDoubt(u)
}

// resultMessage returns the message of a result. If it is the message of one of the
// object's conditions, it includes the reason, and those of the conditions that it names. For kinds of Kubernetes, kstatus makes up
// a condition, whose reason is left out.
func resultMessage(u *unstructured.Unstructured, r *status.Result) string {
	if status.GetLegacyConditionsFn(u) != nil || len(r.Conditions) != 1 || r.Conditions[0].Message != r.Message {
		return r.Message
	}
	c, found := currentCondition(u, r)
	switch {
	case found:
		return joinReason(c.Reason, expandConditions(u, c.Message))
	case isUnobserved(u) && LacksStatus(u): // its generation is a default of its schema
		return unwrittenStatus
	}
	return joinReason(r.Conditions[0].Reason, expandConditions(u, r.Message))
}

// currentCondition returns the condition of the last generation that says more of why a custom resource is not ready than what
// kstatus goes by: Ready if it is False while Reconciling is True, and any while its controller has not set the observedGeneration
// of its status. The controllers of Flux set that only after a success, and before it the one that each condition has.
func currentCondition(u *unstructured.Unstructured, r *status.Result) (metav1.Condition, bool) {
	if r.Status != InProgress || !kinds.IsCustom(kindOf(u)) {
		return metav1.Condition{}, false
	}
	wanted := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse}}
	reconciling, _ := findCondition(u, "Reconciling")
	needsGeneration := reconciling.ObservedGeneration != 0 // a Ready without one may be older
	if isUnobserved(u) {
		needsGeneration = true
		wanted = append(wanted, metav1.Condition{Type: "Stalled", Status: metav1.ConditionTrue},
			metav1.Condition{Type: "Reconciling", Status: metav1.ConditionTrue}, metav1.Condition{Type: "Ready", Status: metav1.ConditionUnknown})
	}
	for _, w := range wanted {
		c, found := findCondition(u, w.Type)
		isCurrent := c.ObservedGeneration == u.GetGeneration() || c.ObservedGeneration == 0 && !needsGeneration
		if found && c.Status == w.Status && c.Reason+c.Message != "" && isCurrent {
			return c, true
		}
	}
	return metav1.Condition{}, false
}
