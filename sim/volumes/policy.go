package volumes

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Policy returns the permissions of the provisioner's service account. Upstream's
// system:persistent-volume-provisioner does not suffice: it can neither expand volumes
// nor create the default StorageClass, and it is bound to no account.
func Policy() (rbacv1.ClusterRole, rbacv1.ClusterRoleBinding) {
	const roleName = "ctrlplane:" + Name
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	role := rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: roleName},
		Rules: []rbacv1.PolicyRule{
			rule("", "persistentvolumes", "get", "list", "watch", "create", "delete", "patch"),
			rule("", "persistentvolumeclaims", "get", "list", "watch", "update"), // to remove the selected node
			rule("", "persistentvolumeclaims/status", "patch"),
			rule("", "nodes", "get", "list", "watch"),
			rule("storage.k8s.io", "storageclasses", "get", "list", "watch", "create"),
			rule("storage.k8s.io", "csidrivers", "create"),
			rule("", "events", "create", "patch", "update"),
		},
	}
	binding := rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: roleName},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: roleName},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: Name}},
	}
	return role, binding
}
