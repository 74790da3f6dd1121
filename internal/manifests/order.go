package manifests

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	namespaceKind = schema.GroupKind{Kind: "Namespace"}
	crdKind       = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

// The order of the phases. Within one, objects stay as they were given.
const (
	phaseNamespaces  = iota
	phaseDefinitions // what follows may be of these kinds
	phaseNeeded      // what Pods name, or what limits them
	phaseRest
	phaseGuards // what would meet the requests for all the others
)

// phase says when an object of a kind is applied.
func phase(gk schema.GroupKind) int {
	switch gk {
	case namespaceKind:
		return phaseNamespaces
	case crdKind:
		return phaseDefinitions
	}
	switch gk.Group {
	case "":
		switch gk.Kind {
		case "ServiceAccount", "ConfigMap", "Secret", "LimitRange", "ResourceQuota", "PersistentVolume":
			return phaseNeeded
		}
	case "rbac.authorization.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "node.k8s.io":
		return phaseNeeded
	case "networking.k8s.io":
		if gk.Kind == "IngressClass" {
			return phaseNeeded
		}
	case "admissionregistration.k8s.io", "apiregistration.k8s.io":
		return phaseGuards
	}
	return phaseRest
}

// ordered returns the objects in the order in which they are applied.
func ordered(objs []Object) []Object {
	objs = slices.Clone(objs)
	slices.SortStableFunc(objs, func(a, b Object) int {
		return phase(a.GroupVersionKind().GroupKind()) - phase(b.GroupVersionKind().GroupKind())
	})
	return objs
}
