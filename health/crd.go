package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	if !isCustomKind(r.GroupKind()) {
		return s.explainUnservedVersion(r)
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

// explainUnservedVersion says in which version a kind of Kubernetes is served that is not in another one.
func (s *reasonSearch) explainUnservedVersion(r Ref) string {
	_, lists, err := s.kinds.ServerGroupsAndResourcesWithContext(s.ctx) // has what is known also if an aggregated API does not answer
	if len(lists) == 0 && err != nil {
		s.recordError(fmt.Errorf("discover kinds: %w", err))
		return ""
	}
	var served []schema.GroupVersion
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		has := slices.ContainsFunc(list.APIResources, func(a metav1.APIResource) bool { return a.Kind == r.Kind && !strings.Contains(a.Name, "/") })
		if err == nil && has && !isCustomKind(gv.WithKind(r.Kind).GroupKind()) {
			served = append(served, gv)
		}
	}
	if len(served) == 0 {
		return fmt.Sprintf("the control plane does not serve kind %s in %s, a group of Kubernetes: correct its kind and apiVersion", r.Kind, r.GroupVersion())
	}
	as := served[max(0, slices.IndexFunc(served, func(gv schema.GroupVersion) bool { return gv.Group == r.Group }))]
	return fmt.Sprintf("kind %s is not served in %s but in %s: correct its apiVersion", r.Kind, r.GroupVersion(), as)
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
