package health

import (
	"bytes"
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
)

const unwrittenStatus = "no client has written its status"

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
		missing = unwrittenStatus
	}
	s.Message += joint + missing
}

// awaitsStatus reports whether an object is a custom resource whose status no client has written, or not since its last
// change, as its observedGeneration says.
func awaitsStatus(u *unstructured.Unstructured) bool {
	if LacksStatus(u) {
		return true
	}
	if !kinds.IsCustom(kindOf(u)) || u.GetDeletionTimestamp() != nil {
		return false
	}
	u, _ = readable(u)
	return isUnobserved(u)
}

// LacksStatus reports whether an object is a custom resource whose status no client has written: it has none, or only the
// defaults of its schema. [Waiter.StatusResource] says whether its kind has a status.
func LacksStatus(u *unstructured.Unstructured) bool {
	if !kinds.IsCustom(kindOf(u)) || u.GetDeletionTimestamp() != nil {
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
