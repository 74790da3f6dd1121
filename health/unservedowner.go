package health

import (
	"cmp"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
)

// explainUnservedOwner says that the API server does not serve the kind of an owner of an object, or not while an APIService is not
// available. The garbage collector then cannot look up the owner: it retries, and neither deletes the object nor removes references
// to its other owners. Only of an owner whose deletion it saw does it know that it is absent.
func (s *reasonSearch) explainUnservedOwner(u *unstructured.Unstructured) string {
	if u.GetDeletionTimestamp() != nil { // the garbage collector leaves it alone
		return ""
	}
	defer s.ignoreErrors()()
	s.err = nil
	owners := u.GetOwnerReferences()
	for _, owner := range owners[:min(len(owners), maxNeeded)] {
		gvk := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
		if isAlwaysServed(gvk) {
			continue
		}
		found := s.findKind(gvk)
		if found.err == nil || errors.Is(found.err, errNotWatchable) {
			continue
		}
		if found.unserved == "" {
			if errors.Is(found.err, errNotServed) {
				found.unserved = cmp.Or(s.explainUnserved(Ref{gvk, u.GetNamespace(), owner.Name}), found.err.Error())
			} else {
				found.unserved = s.explainUnavailable(gvk.GroupVersion())
			}
			s.cache.kinds[gvk] = found
		}
		if found.unserved == "" {
			continue
		}
		then := s.explainStopped(controllernames.GarbageCollector, "look for it")
		if then == "" {
			then = "until then " + controllernames.GarbageCollector + " retries, and does not delete this object unless it saw the deletion of that owner"
		}
		return fmt.Sprintf("its owner %s %s cannot be looked up: %s; %s", owner.Kind, owner.Name, found.unserved, then)
	}
	return ""
}

// isAlwaysServed spares a request for what almost every owner is.
func isAlwaysServed(gvk schema.GroupVersionKind) bool {
	switch gvk.GroupVersion() {
	case corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, batchv1.SchemeGroupVersion:
		return scheme.Scheme.Recognizes(gvk)
	}
	return false
}
