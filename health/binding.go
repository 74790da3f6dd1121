package health

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// doubtBinding names the role and the ServiceAccounts of a binding that do not exist. A ClusterRoleBinding
// has the same fields.
func (s *reasonSearch) doubtBinding(u *unstructured.Unstructured, binding *rbacv1.RoleBinding) string {
	resource, namespace := rbacv1.SchemeGroupVersion.WithResource("roles"), u.GetNamespace()
	if binding.RoleRef.Kind == "ClusterRole" {
		resource, namespace = rbacv1.SchemeGroupVersion.WithResource("clusterroles"), ""
	}
	var texts []string
	if s.missing(resource, namespace, binding.RoleRef.Name) {
		texts = append(texts, fmt.Sprintf("its %s %s does not exist: it grants nothing", binding.RoleRef.Kind, binding.RoleRef.Name))
	}
	for _, to := range binding.Subjects {
		if to.Kind == rbacv1.ServiceAccountKind && s.missing(coreResource("serviceaccounts"), to.Namespace, to.Name) {
			texts = append(texts, fmt.Sprintf("its subject ServiceAccount %s/%s does not exist", to.Namespace, to.Name))
		}
	}
	return joinFirst(texts)
}
