// Package storekeys maps the keys below which the API server stores objects to
// resources, and resources to keys. It is the only place that knows the layout.
//
// The API server stores an object of a built-in resource at
// PREFIX/RESOURCE/NAMESPACE/NAME, with a few exceptions for historical reasons
// (Nodes are stored below "minions"). It stores objects of all other resources at
// PREFIX/GROUP/RESOURCE/NAMESPACE/NAME. Objects without a namespace have no
// NAMESPACE part. PREFIX is the value of the API server's --etcd-prefix.
//
// The package imports only the standard library, because the etcd package depends
// on it. Its tests compare the table of built-in resources with client-go's scheme,
// and those of the apiserver package compare the exceptions with upstream's.
package storekeys

import "strings"

// DefaultPrefix is the default of the API server's --etcd-prefix.
const DefaultPrefix = "/registry"

// Resource prefixes that need special treatment somewhere.
const (
	APIServices                       = "apiregistration.k8s.io/apiservices"
	ClusterRoleBindings               = "clusterrolebindings"
	ClusterRoles                      = "clusterroles"
	CustomResourceDefinitions         = "apiextensions.k8s.io/customresourcedefinitions"
	Events                            = "events"
	Leases                            = "leases"
	MutatingAdmissionPolicies         = "mutatingadmissionpolicies"
	MutatingAdmissionPolicyBindings   = "mutatingadmissionpolicybindings"
	Namespaces                        = "namespaces"
	PriorityClasses                   = "priorityclasses"
	RoleBindings                      = "rolebindings"
	Roles                             = "roles"
	Secrets                           = "secrets"
	ValidatingAdmissionPolicies       = "validatingadmissionpolicies"
	ValidatingAdmissionPolicyBindings = "validatingadmissionpolicybindings"
)

// Key is a key without the prefix of the API server, split into the prefix of a
// resource and an object of that resource.
type Key struct {
	// ResourcePrefix stands for a resource: "pods", "services/specs",
	// "example.com/widgets".
	ResourcePrefix string
	// Object is NAMESPACE/NAME, or NAME for an object without a namespace.
	Object string
}

// Parse splits a key whose prefix has been removed.
func Parse(key string) Key {
	rest := strings.TrimPrefix(key, "/")
	end := strings.IndexByte(rest, '/')
	if end >= 0 && hasTwoParts(rest[:end]) {
		if next := strings.IndexByte(rest[end+1:], '/'); next >= 0 {
			end += 1 + next
		} else {
			end = -1
		}
	}
	if end < 0 {
		return Key{ResourcePrefix: rest}
	}
	return Key{ResourcePrefix: rest[:end], Object: rest[end+1:]}
}

// hasTwoParts reports whether resource prefixes that begin with first have a second
// part: those of API groups, and those of the built-in exceptions.
func hasTwoParts(first string) bool {
	return first == "services" || first == "ranges" || strings.Contains(first, ".")
}

// ParseBelow splits a key below prefix. It returns false for any other key.
func ParseBelow(prefix, key string) (Key, bool) {
	rest, ok := strings.CutPrefix(key, prefix)
	if !ok || !strings.HasPrefix(rest, "/") {
		return Key{}, false
	}
	return Parse(rest), true
}

// ResourcePrefix returns the resource prefix of a key whose prefix has been removed.
func ResourcePrefix(key string) string { return Parse(key).ResourcePrefix }

// Namespace returns the namespace of the object, empty if it has none.
func (k Key) Namespace() string {
	namespace, _, ok := strings.Cut(k.Object, "/")
	if !ok {
		return ""
	}
	return namespace
}

// Name returns the name of the object.
func (k Key) Name() string {
	return k.Object[strings.LastIndexByte(k.Object, '/')+1:]
}

// Resource returns the resource as RESOURCE or RESOURCE.GROUP. It is empty for what
// the API server stores for itself, like "ranges/serviceips" and "masterleases".
func (k Key) Resource() string {
	if resource, ok := resourceByPrefix[k.ResourcePrefix]; ok {
		return resource
	}
	group, resource, ok := strings.Cut(k.ResourcePrefix, "/")
	if !ok || !strings.Contains(group, ".") {
		return ""
	}
	return resource + "." + group
}

// PrefixOf returns the resource prefix below which objects of a resource are stored.
func PrefixOf(group, resource string) string {
	if prefix, ok := prefixByResource[resourceName(group, resource)]; ok {
		return prefix
	}
	if group == "" {
		return resource
	}
	return group + "/" + resource
}

func resourceName(group, resource string) string {
	if group == "" {
		return resource
	}
	return resource + "." + group
}
