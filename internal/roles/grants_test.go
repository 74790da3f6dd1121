package roles

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/control"
)

// What a client grants with roles and bindings it must have itself, or may escalate and bind.
func TestGrants(t *testing.T) {
	const group = "rbac.authorization.k8s.io"
	permission := func(verb, resource, namespace string) control.Permission {
		return control.Permission{Verb: verb, Group: group, Resource: resource, Namespace: namespace}
	}
	list := control.PermissionList{Client: "operator (admin)", User: "admin", Items: []control.PermissionUse{
		use("create", group, "roles", "web"), use("update", group, "roles", "web"), use("patch", group, "rolebindings", "web"),
		use("get", group, "roles", "shop"), use("delete", group, "rolebindings", "shop"), use("create", "example.com", "roles", "shop"),
		use("create", group, "clusterrolebindings", ""),
	}}
	want := []control.Permission{
		permission("escalate", "roles", "web"), permission("bind", "roles", "web"), permission("bind", "clusterroles", ""),
	}
	if diff := cmp.Diff(want, Grants(list)); diff != "" {
		t.Error(diff)
	}
	got := text(t, list)
	for _, want := range []string{"  resources:\n  - clusterroles\n  verbs:\n  - bind\n", "  resources:\n  - roles\n  verbs:\n  - create\n  - update\n  - bind\n  - escalate\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the roles do not contain\n%s:\n%s", want, got)
		}
	}
}
