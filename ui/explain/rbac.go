package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbac "k8s.io/client-go/kubernetes/typed/rbac/v1"
)

const (
	accountPrefix = "system:serviceaccount:" + metav1.NamespaceSystem + ":"
	groupPrefix   = "group:"
)

// Permission is what one role allows a user to do.
type Permission struct {
	User      string `json:"user"` // group:NAME for a group
	Role      string `json:"role"` // ClusterRole NAME, or Role NAME
	Namespace string `json:"namespace,omitempty"`
	Rules     []Rule `json:"rules"`
}

// Rule is a set of allowed verbs on resources or paths.
type Rule struct {
	Verbs []string `json:"verbs"`
	On    []string `json:"on"`              // RESOURCE[.GROUP][/SUBRESOURCE], or /path
	Named []string `json:"named,omitempty"` // only objects with these names
}

// RBAC has the roles and bindings of a control plane.
type RBAC struct {
	clusterBindings []rbacv1.ClusterRoleBinding
	bindings        []rbacv1.RoleBinding
	rules           map[string][]rbacv1.PolicyRule // by roleKey
}

// ReadRBAC reads all roles and bindings from a control plane.
func ReadRBAC(ctx context.Context, client rbac.RbacV1Interface) (*RBAC, error) {
	all := metav1.ListOptions{}
	clusterRoles, err := client.ClusterRoles().List(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("explain: permissions: %w", err)
	}
	roles, err := client.Roles("").List(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("explain: permissions: %w", err)
	}
	clusterBindings, err := client.ClusterRoleBindings().List(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("explain: permissions: %w", err)
	}
	bindings, err := client.RoleBindings("").List(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("explain: permissions: %w", err)
	}
	return newRBAC(clusterRoles.Items, roles.Items, clusterBindings.Items, bindings.Items), nil
}

func newRBAC(clusterRoles []rbacv1.ClusterRole, roles []rbacv1.Role, clusterBindings []rbacv1.ClusterRoleBinding, bindings []rbacv1.RoleBinding) *RBAC {
	r := &RBAC{clusterBindings: clusterBindings, bindings: bindings, rules: map[string][]rbacv1.PolicyRule{}}
	for _, role := range clusterRoles {
		r.rules[roleKey(rbacv1.RoleRef{Kind: "ClusterRole", Name: role.Name}, "")] = role.Rules
	}
	for _, role := range roles {
		r.rules[roleKey(rbacv1.RoleRef{Kind: "Role", Name: role.Name}, role.Namespace)] = role.Rules
	}
	return r
}

// roleKey is the key of a role that a binding in a namespace refers to.
func roleKey(ref rbacv1.RoleRef, namespace string) string {
	if ref.Kind == "ClusterRole" {
		namespace = ""
	}
	return ref.Kind + "/" + namespace + "/" + ref.Name
}

// Permissions returns what the bindings that name these users, or groups with
// groupPrefix, allow them to do.
func (r *RBAC) Permissions(who []string) []Permission {
	var all []Permission
	for _, w := range who {
		for _, b := range r.clusterBindings {
			all = r.addPermissions(all, w, b.Subjects, b.RoleRef, "")
		}
		for _, b := range r.bindings {
			all = r.addPermissions(all, w, b.Subjects, b.RoleRef, b.Namespace)
		}
	}
	return all
}

func (r *RBAC) addPermissions(all []Permission, who string, subjects []rbacv1.Subject, ref rbacv1.RoleRef, namespace string) []Permission {
	if !slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool { return subjectName(s) == who }) {
		return all
	}
	p := Permission{User: who, Role: ref.Kind + " " + ref.Name, Namespace: namespace}
	for _, rule := range r.rules[roleKey(ref, namespace)] {
		p.Rules = append(p.Rules, simplifyRule(rule))
	}
	return append(all, p)
}

func subjectName(s rbacv1.Subject) string {
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		return "system:serviceaccount:" + s.Namespace + ":" + s.Name
	case rbacv1.GroupKind:
		return groupPrefix + s.Name
	}
	return s.Name
}

func simplifyRule(rule rbacv1.PolicyRule) Rule {
	out := Rule{Verbs: slices.Sorted(slices.Values(rule.Verbs)), On: slices.Clone(rule.NonResourceURLs), Named: rule.ResourceNames}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			name, sub, _ := strings.Cut(resource, "/")
			if group != "" {
				name += "." + group
			}
			if sub != "" {
				name += "/" + sub
			}
			out.On = append(out.On, name)
		}
	}
	return out
}
