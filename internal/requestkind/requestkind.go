// Package requestkind says what requests do to the objects of a control plane. A snapshot, a pause, an injected delay, the
// deletion of a namespace, the search for causes, and the check whether a request of a client keeps a control plane from being
// settled use it.
package requestkind

// IsStream reports whether a request for a subresource is a stream to a Pod, a Service or a Node. It
// may last for hours, and writes no object. An aggregated API server may have another subresource "log", or "token".
func IsStream(group, resource, subresource string) bool {
	switch subresource {
	case "exec", "attach", "portforward", "proxy":
		return true
	case "log":
		return group == "" && resource == "pods"
	}
	return false
}

// IsReview reports whether a request only asks whether a token is valid or what is allowed, or for a token of a
// ServiceAccount: it stores nothing.
func IsReview(group, resource, subresource string) bool {
	return group == "authentication.k8s.io" || group == "authorization.k8s.io" ||
		group == "" && resource == "serviceaccounts" && subresource == "token"
}

// StoresObject reports whether a request with the verb of a write may store an object.
func StoresObject(group, resource, subresource string) bool {
	return !IsReview(group, resource, subresource) && !IsStream(group, resource, subresource)
}

// ChangesState reports whether a request with the verb of a write may change the state that a snapshot
// has. Leases do not belong to it.
func ChangesState(group, resource, subresource string) bool {
	isLease := group == "coordination.k8s.io" && resource == "leases"
	return !isLease && StoresObject(group, resource, subresource)
}

// LeaderAnnotation is that of the ConfigMaps and Endpoints in which the leader elections of some libraries keep what others keep in a
// Lease, as the one of Python does.
const LeaderAnnotation = "control-plane.alpha.kubernetes.io/leader"

// MayBeLock reports whether the objects of a resource may have a LeaderAnnotation that is renewed.
func MayBeLock(group, resource, subresource string) bool {
	return group == "" && subresource == "" && (resource == "configmaps" || resource == "endpoints")
}
