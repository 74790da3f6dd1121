package health

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// kstatus knows of custom resources only the conditions Ready, Reconciling and Stalled, and observedGeneration: without
// them an object is current. Others are no reason to fail, as their meaning is up to their authors, but worth to be said.
var (
	conditionsOfSuccess = []string{"Ready", "Available", "Reconciled", "Synced", "Healthy", "Accepted", "Programmed", "ResolvedRefs"}
	conditionsOfFailure = []string{"Failed", "Degraded", "InvalidSpec"}
)

// addDoubt notes what makes it doubtful that an object is healthy that kstatus takes for current.
func (s *State) addDoubt(u *unstructured.Unstructured) {
	if s.Status != Current || !kinds.IsCustom(u.GroupVersionKind().GroupKind()) || hasCustomRule(u) {
		return
	}
	var doubts []string
	for _, c := range readConditions(u) {
		if slices.Contains(conditionsOfSuccess, c.Type) && c.Status != metav1.ConditionTrue || slices.Contains(conditionsOfFailure, c.Type) && c.Status == metav1.ConditionTrue {
			doubts = append(doubts, "its "+describeCondition(c, ""))
		}
	}
	if len(doubts) == 0 {
		doubts = waitingDoubts(u)
	}
	if text := staleConditions(u); text != "" {
		doubts = append(doubts, text)
	}
	if len(doubts) > 0 {
		s.Doubt = words.OneLine(strings.Join(doubts, "; "))
		s.Message += ", but " + s.Doubt
	}
}

// staleConditions says that all conditions with an observedGeneration are of an earlier generation than the object; "" if one is not,
// or if none has it. An object whose status has one has been observed, whatever its conditions say. Without the subresource
// status each write of the status makes another generation.
func staleConditions(u *unstructured.Unstructured) string {
	isOfStatus := func(f metav1.ManagedFieldsEntry) bool { return f.Subresource == "status" }
	if _, has, err := unstructured.NestedFieldNoCopy(u.Object, "status", "observedGeneration"); has || err != nil || !slices.ContainsFunc(u.GetManagedFields(), isOfStatus) {
		return ""
	}
	value, _, _ := unstructured.NestedFieldNoCopy(u.Object, "status", "conditions")
	conditions, _ := value.([]any)
	var latest int64
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		observed, _ := fields["observedGeneration"].(int64)
		latest = max(latest, observed)
	}
	if latest == 0 || latest >= u.GetGeneration() {
		return ""
	}
	return fmt.Sprintf("its conditions are of generation %d or before, and it is at generation %d", latest, u.GetGeneration())
}

// addMissingStatus notes that no client has reported the state of a custom resource whose kind has a status. resource is
// that of the kind; empty if the kind has no status.
func (s *State) addMissingStatus(u *unstructured.Unstructured, resource string) {
	if resource == "" || !awaitsStatus(u) {
		return
	}
	s.Unreported = resource
	if LacksStatus(u) {
		s.Created = u.GetCreationTimestamp().Time
	}
	if s.Status != Current {
		return
	}
	joint, missing := ", but ", "it has no status yet"
	if s.Doubt != "" {
		joint = "; "
	}
	if content, _ := u.Object["status"].(map[string]any); len(content) > 0 { // the defaults of its schema
		missing = "no client has written its status"
	}
	s.Message += joint + missing
}

// awaitsStatus reports whether an object is a custom resource whose status no client has written, or not since its last
// change, as its observedGeneration says.
func awaitsStatus(u *unstructured.Unstructured) bool {
	if LacksStatus(u) {
		return true
	}
	if !kinds.IsCustom(u.GroupVersionKind().GroupKind()) || u.GetDeletionTimestamp() != nil {
		return false
	}
	u, _ = readable(u)
	return isUnobserved(u)
}

// LacksStatus reports whether an object is a custom resource whose status no client has written: it has none, or only the
// defaults of its schema. [Waiter.StatusResource] says whether its kind has a status.
func LacksStatus(u *unstructured.Unstructured) bool {
	if !kinds.IsCustom(u.GroupVersionKind().GroupKind()) || u.GetDeletionTimestamp() != nil {
		return false
	}
	content, isMap := u.Object["status"].(map[string]any)
	if len(content) == 0 {
		return isMap || u.Object["status"] == nil
	}
	written := func(f metav1.ManagedFieldsEntry) bool {
		return f.Subresource == "status" || f.FieldsV1 == nil || bytes.Contains(f.FieldsV1.GetRawBytes(), []byte(`"f:status"`))
	}
	fields := u.GetManagedFields()
	return len(fields) > 0 && !slices.ContainsFunc(fields, written)
}

// StatusResource returns the resource of a kind, as RESOURCE.GROUP; empty if the kind has no status that clients write
// by itself. It asks the API server.
func (w *Waiter) StatusResource(ctx context.Context, gvk schema.GroupVersionKind) (string, error) {
	r, err := w.findResource(ctx, gvk)
	if errors.Is(err, errNotServed) || errors.Is(err, errNotWatchable) {
		return "", nil
	}
	return r.statusResource(), err
}

func (r resource) statusResource() string {
	if !r.hasStatus {
		return ""
	}
	return r.GroupResource().String()
}
