package health

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// crdCleanup is the finalizer of a CustomResourceDefinition that waits until its objects are deleted, and
// cleanupFailed the reason of its condition Terminating if that failed.
const (
	crdCleanup    = "customresourcecleanup.apiextensions.k8s.io"
	cleanupFailed = "InstanceDeletionFailed"
)

// explainUnserved says why the server does not serve a kind.
func (s *reasonSearch) explainUnserved(r Ref) string {
	if !kinds.IsCustom(r.GroupKind()) {
		text, err := kinds.ExplainUnserved(s.ctx, s.kinds, r.GroupVersionKind)
		if err != nil {
			s.recordError(err)
		}
		return text
	}
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	for _, crd := range s.list(crds, "", metav1.ListOptions{}) {
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		if group != r.Group || kind != r.Kind {
			continue
		}
		if state := StateOf(&crd); state.Status != Current {
			return fmt.Sprintf("CustomResourceDefinition %s: %s", crd.GetName(), s.explainObject(&crd))
		}
		return fmt.Sprintf("CustomResourceDefinition %s does not serve version %s", crd.GetName(), r.Version)
	}
	if s.err != nil {
		return ""
	}
	return fmt.Sprintf("unknown kind %s in %s: correct the name or install its CustomResourceDefinition", r.Kind, r.GroupVersion())
}

// explainInstances names one of the objects that keep a CustomResourceDefinition that is being deleted; "" if none is
// known.
func (s *reasonSearch) explainInstances(crd *unstructured.Unstructured) string {
	if !slices.Contains(crd.GetFinalizers(), crdCleanup) {
		return ""
	}
	failure := ""
	if c, _ := findCondition(crd, "Terminating"); c.Reason == cleanupFailed {
		failure = "; " + c.Message
	}
	left := s.list(instancesOf(crd), "", metav1.ListOptions{Limit: maxListed})
	if len(left) == 0 {
		return failure
	}
	first := &left[max(0, slices.IndexFunc(left, func(u unstructured.Unstructured) bool { return len(u.GetFinalizers()) > 0 }))]
	text := fmt.Sprintf(": %s still exists", RefOf(first))
	if first.GetDeletionTimestamp() != nil {
		text, failure = fmt.Sprintf(": %s is %s", RefOf(first), s.explainDeletion(first)), ""
	}
	if others := len(left) - 1; others > 0 {
		atLeast := ""
		if len(left) == maxListed {
			atLeast = "at least "
		}
		text += fmt.Sprintf(" (and %s%s)", atLeast, words.Count(others, "other "+first.GetKind()))
	}
	return text + failure
}

// instancesOf returns the resource that a CustomResourceDefinition defines, in a version that is served.
func instancesOf(crd *unstructured.Unstructured) (r schema.GroupVersionResource) {
	r.Group, _, _ = unstructured.NestedString(crd.Object, "spec", "group")
	r.Resource, _, _ = unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if served, _, _ := unstructured.NestedBool(version, "served"); served {
			name, _, _ := unstructured.NestedString(version, "name")
			r.Version = cmp.Or(r.Version, name)
		}
	}
	return r
}
