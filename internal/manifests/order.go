package manifests

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	namespaceKind = schema.GroupKind{Kind: "Namespace"}
	crdKind       = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

// The order of the phases. Within a phase, objects keep the given order.
const (
	phaseNamespaces   = iota
	phaseCRDs         // later objects may be of these kinds
	phaseDependencies // what Pods refer to, or what limits them
	phaseDefault
	phaseAdmission // what intercepts the requests for all other objects
)

// phaseOf returns when objects of a kind are applied.
func phaseOf(gk schema.GroupKind) int {
	switch gk {
	case namespaceKind:
		return phaseNamespaces
	case crdKind:
		return phaseCRDs
	}
	switch gk.Group {
	case "":
		switch gk.Kind {
		case "ServiceAccount", "ConfigMap", "Secret", "LimitRange", "ResourceQuota", "PersistentVolume":
			return phaseDependencies
		}
	case "rbac.authorization.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "node.k8s.io":
		return phaseDependencies
	case "networking.k8s.io":
		if gk.Kind == "IngressClass" {
			return phaseDependencies
		}
	case "admissionregistration.k8s.io", "apiregistration.k8s.io":
		return phaseAdmission
	}
	return phaseDefault
}

// sortByPhase returns the objects in the order in which they are applied.
func sortByPhase(objs []Object) []Object {
	objs = slices.Clone(objs)
	slices.SortStableFunc(objs, func(a, b Object) int {
		return phaseOf(a.GroupVersionKind().GroupKind()) - phaseOf(b.GroupVersionKind().GroupKind())
	})
	return objs
}
