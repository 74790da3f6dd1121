// Package requestkind says what requests do to the objects of a control plane. A snapshot, a pause and
// the check whether a request of a client keeps a control plane from being settled use it.
package requestkind

// IsStream reports whether a request for a subresource is a stream to a Pod, a Service or a Node. It
// may last for hours, and writes no object.
func IsStream(subresource string) bool {
	switch subresource {
	case "exec", "attach", "portforward", "proxy", "log":
		return true
	}
	return false
}

// StoresObject reports whether a request with the verb of a write may store an object: streams,
// reviews and requests for tokens of ServiceAccounts do not.
func StoresObject(group, resource, subresource string) bool {
	switch {
	case group == "authentication.k8s.io" || group == "authorization.k8s.io":
		return false
	case subresource == "token": // an aggregated API server may have this subresource and the next
		return group != "" || resource != "serviceaccounts"
	case subresource == "log":
		return group != "" || resource != "pods"
	}
	return !IsStream(subresource)
}

// ChangesState reports whether a request with the verb of a write may change the state that a snapshot
// has. Leases do not belong to it.
func ChangesState(group, resource, subresource string) bool {
	isLease := group == "coordination.k8s.io" && resource == "leases"
	return !isLease && StoresObject(group, resource, subresource)
}
