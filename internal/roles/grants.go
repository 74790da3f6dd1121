package roles

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ctrlplane/ctrlplane/control"
)

// granting has the verbs that let a client write roles and bindings whose permissions it does not have itself, by the resource that it
// writes: the API server refuses that otherwise. Which kind of role a RoleBinding names is not in a permission.
var granting = map[string]struct {
	verb      string
	resources []string
}{
	"roles":               {"escalate", []string{"roles"}},
	"clusterroles":        {"escalate", []string{"clusterroles"}},
	"rolebindings":        {"bind", []string{"roles", "clusterroles"}},
	"clusterrolebindings": {"bind", []string{"clusterroles"}},
}

// Grants returns the permissions that the roles have in addition to those of a list, because the client writes roles or bindings. One
// for all namespaces stands for those for each.
func Grants(list control.PermissionList) (grants []control.Permission) {
	for _, use := range list.Items {
		g := granting[use.Resource]
		if use.Group != rbacv1.GroupName || !slices.Contains([]string{"create", "update", "patch"}, use.Verb) {
			continue
		}
		for _, resource := range g.resources {
			p := control.Permission{Verb: g.verb, Group: use.Group, Resource: resource, Namespace: use.Namespace}
			if !slices.Contains(grants, p) {
				grants = append(grants, p)
			}
		}
	}
	all := slices.Clone(grants)
	return slices.DeleteFunc(grants, func(p control.Permission) bool {
		wide := p
		wide.Namespace = ""
		return p != wide && slices.Contains(all, wide)
	})
}

// withGrants adds what Grants returns.
func withGrants(list control.PermissionList) []control.PermissionUse {
	all := slices.Clone(list.Items)
	for _, p := range Grants(list) {
		all = append(all, control.PermissionUse{Permission: p})
	}
	return all
}
