package health

import (
	"bytes"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
)

// success matches the types of conditions that become True when a controller has done all that it has to do for an object. Others,
// such as AllReplicasReady, may become True while it still fails.
var success = regexp.MustCompile(`^(?:Ready|Synced|Reconciled|Reconcil\w*(?:Success|Successful|Succeeded))$`)

// isSolved reports whether a custom resource has reported a success since a warning about it, and no failure now.
func isSolved(u *unstructured.Unstructured, warning *corev1.Event) (solved bool) {
	if !kinds.IsCustom(kindOf(u)) {
		return false
	}
	for _, c := range readConditions(u) {
		switch {
		case c.Status == metav1.ConditionTrue && (c.Type == "Stalled" || slices.Contains(conditionsOfFailure, c.Type)):
			return false
		case !success.MatchString(c.Type):
		case c.Status != metav1.ConditionTrue:
			return false
		case eventTime(warning).Before(c.LastTransitionTime.Add(-warningMargin)):
			solved = true
		}
	}
	return solved
}

// isBeforeChange reports whether a warning is older than the last change of an object's spec.
func isBeforeChange(u *unstructured.Unstructured, warning *corev1.Event) bool {
	return eventTime(warning).Before(specTime(u).Add(-warningMargin))
}

// specTime returns when a client has last written an object whose spec it has written: that, or other fields. The client that has
// written the status last is its operator, whose own changes of the spec do not count. It is zero if that is not known.
func specTime(u *unstructured.Unstructured) time.Time {
	operator := lastWriter(u, func(f metav1.ManagedFieldsEntry) bool { return hasField(f, "status") })
	spec := lastWriter(u, func(f metav1.ManagedFieldsEntry) bool {
		return f.Subresource == "" && hasField(f, "spec") && (operator.Time == nil || f.Manager != operator.Manager)
	})
	return entryTime(spec)
}

// statusTime returns when the status of an object has last changed; zero if that is not known.
func statusTime(u *unstructured.Unstructured) time.Time {
	return entryTime(lastWriter(u, func(f metav1.ManagedFieldsEntry) bool { return hasField(f, "status") }))
}

// lastWriter returns the newest of the wanted entries about the clients that have written an object; zero if none has a time.
func lastWriter(u *unstructured.Unstructured, wanted func(metav1.ManagedFieldsEntry) bool) (last metav1.ManagedFieldsEntry) {
	for _, f := range u.GetManagedFields() {
		if f.Time != nil && wanted(f) && (last.Time == nil || f.Time.After(last.Time.Time)) {
			last = f
		}
	}
	return last
}

func entryTime(f metav1.ManagedFieldsEntry) (at time.Time) {
	if f.Time != nil {
		at = f.Time.Time
	}
	return at
}

// hasField reports whether a client has written a field at the top of an object.
func hasField(f metav1.ManagedFieldsEntry, name string) bool {
	return f.FieldsV1 != nil && bytes.Contains(f.FieldsV1.GetRawBytes(), []byte(`"f:`+name+`"`))
}
