package health

import (
	"bytes"
	"regexp"
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
	for _, c := range readTimedConditions(u) {
		switch {
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

// specTime returns when a client has changed the spec of an object last, or other fields that it has written with the spec; zero if
// that is not known.
func specTime(u *unstructured.Unstructured) (last time.Time) {
	for _, f := range u.GetManagedFields() {
		if f.Subresource == "" && f.Time != nil && f.FieldsV1 != nil && bytes.Contains(f.FieldsV1.GetRawBytes(), []byte(`"f:spec"`)) && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}

// readTimedConditions returns the conditions with the times of their transitions; none if those cannot be read.
func readTimedConditions(u *unstructured.Unstructured) []metav1.Condition {
	var found struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if convertObject(u, &found) != nil {
		return nil
	}
	return found.Status.Conditions
}
