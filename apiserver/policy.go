package apiserver

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/auth/rbac/reconciliation"
)

// storedPolicy holds the roles and bindings of all namespaces. Listing them takes 4
// requests; upstream's reconciliation makes one for each of about 140 objects.
type storedPolicy struct {
	roles    listCache[reconciliation.RuleOwner]
	bindings listCache[reconciliation.RoleBinding]
}

// listCache answers the first read of each key from a list, and later reads from the
// API server: upstream reads again after a conflict.
type listCache[T any] struct {
	items map[string]T
	used  map[string]bool
}

func newListCache[T any]() listCache[T] {
	return listCache[T]{items: map[string]T{}, used: map[string]bool{}}
}

func (l listCache[T]) get(namespace, name string, live func(namespace, name string) (T, error)) (T, error) {
	key := policyKey(namespace, name)
	if l.used[key] {
		return live(namespace, name)
	}
	l.used[key] = true
	obj, ok := l.items[key]
	if !ok {
		return obj, apierrors.NewNotFound(rbacv1.Resource("roles"), name)
	}
	return obj, nil
}

func policyKey(namespace, name string) string { return namespace + "/" + name }

func listPolicy(ctx context.Context, client kubernetes.Interface) (*storedPolicy, error) {
	p := &storedPolicy{roles: newListCache[reconciliation.RuleOwner](), bindings: newListCache[reconciliation.RoleBinding]()}
	rbac := client.RbacV1()
	clusterRoles, err := rbac.ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range clusterRoles.Items {
		p.roles.items[policyKey("", clusterRoles.Items[i].Name)] = reconciliation.ClusterRoleRuleOwner{ClusterRole: &clusterRoles.Items[i]}
	}
	clusterBindings, err := rbac.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range clusterBindings.Items {
		p.bindings.items[policyKey("", clusterBindings.Items[i].Name)] = reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: &clusterBindings.Items[i]}
	}
	roles, err := rbac.Roles("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range roles.Items {
		p.roles.items[policyKey(roles.Items[i].Namespace, roles.Items[i].Name)] = reconciliation.RoleRuleOwner{Role: &roles.Items[i]}
	}
	bindings, err := rbac.RoleBindings("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range bindings.Items {
		p.bindings.items[policyKey(bindings.Items[i].Namespace, bindings.Items[i].Name)] = reconciliation.RoleBindingAdapter{RoleBinding: &bindings.Items[i]}
	}
	return p, nil
}

type listedRoles struct {
	listed listCache[reconciliation.RuleOwner]
	reconciliation.RuleOwnerModifier
}

func (l listedRoles) Get(namespace, name string) (reconciliation.RuleOwner, error) {
	return l.listed.get(namespace, name, l.RuleOwnerModifier.Get)
}

type listedBindings struct {
	listed listCache[reconciliation.RoleBinding]
	reconciliation.RoleBindingModifier
}

func (l listedBindings) Get(namespace, name string) (reconciliation.RoleBinding, error) {
	return l.listed.get(namespace, name, l.RoleBindingModifier.Get)
}
