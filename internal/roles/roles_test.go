package roles

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/ctrlplane/ctrlplane/control"
)

func use(verb, group, resource, namespace string) control.PermissionUse {
	return control.PermissionUse{Permission: control.Permission{Verb: verb, Group: group, Resource: resource, Namespace: namespace}, Requests: 1}
}

func text(t *testing.T, list control.PermissionList) string {
	t.Helper()
	var all []string
	for _, object := range For(list) {
		data, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(data))
	}
	return strings.Join(all, "---\n")
}

func TestServiceAccount(t *testing.T) {
	got := text(t, control.PermissionList{Client: "shop-operator (system:serviceaccount:shop:operator)", User: "system:serviceaccount:shop:operator", Items: []control.PermissionUse{
		use("watch", "apps", "deployments", ""), use("list", "apps", "deployments", ""), use("list", "", "pods", ""), use("watch", "", "pods", ""),
		use("create", "apps", "deployments", "web"), use("list", "apps", "deployments", "web"), use("patch", "example.com", "sites/status", "web"),
	}})
	want := `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: operator
rules:
- apiGroups:
  - ""
  resources:
  - pods
  verbs:
  - list
  - watch
- apiGroups:
  - apps
  resources:
  - deployments
  verbs:
  - list
  - watch
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: operator
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: operator
subjects:
- kind: ServiceAccount
  name: operator
  namespace: shop
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: operator
  namespace: web
rules:
- apiGroups:
  - apps
  resources:
  - deployments
  verbs:
  - create
- apiGroups:
  - example.com
  resources:
  - sites/status
  verbs:
  - patch
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: operator
  namespace: web
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: operator
subjects:
- kind: ServiceAccount
  name: operator
  namespace: shop
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestOtherUsers has clients without a ServiceAccount: their roles have no bindings.
func TestOtherUsers(t *testing.T) {
	for program, want := range map[string]string{"Shop_Operator.v2": "shop-operator-v2", "__": "client", "kubectl": "kubectl"} {
		objects := For(control.PermissionList{Client: program + " (kubernetes-admin)", User: "kubernetes-admin", Items: []control.PermissionUse{use("get", "", "pods", "a"), use("get", "", "nodes", "")}})
		if got := fmt.Sprint(len(objects)); got != "2" {
			t.Errorf("%s: %s objects, want 2", program, got)
		}
		if got := text(t, control.PermissionList{Client: program + " (a)", Items: []control.PermissionUse{use("get", "", "pods", "")}}); !strings.Contains(got, "name: "+want+"\n") {
			t.Errorf("%s: want the name %s: %s", program, want, got)
		}
	}
}

// An informer that has received all objects by a watch lists them on a server that does not support that.
func TestWatchAllowsList(t *testing.T) {
	got := text(t, control.PermissionList{Client: "a (b)", Items: []control.PermissionUse{
		use("watch", "example.com", "sites", ""), use("watch", "", "pods", "web"), use("list", "", "pods", "web"),
	}})
	if n := strings.Count(got, "  - list\n  - watch\n"); n != 2 || strings.Count(got, "- list") != 2 {
		t.Errorf("got\n%s", got)
	}
}

// The roles of one ServiceAccount have one name: those of an operator include its client for leader election.
func TestMerge(t *testing.T) {
	refused := use("get", "", "secrets", "a")
	refused.Refused = 1
	lists := []control.PermissionList{
		{Client: "kueue (u)", User: "u", LeftOut: 1, Items: []control.PermissionUse{use("get", "", "secrets", "a"), use("list", "", "pods", "")}},
		{Client: "manager (u)", User: "u", LeftOut: 2, Items: []control.PermissionUse{use("update", "coordination.k8s.io", "leases", "a"), refused}},
	}
	both := use("get", "", "secrets", "a")
	both.Requests, both.Refused = 2, 1
	want := control.PermissionList{Client: "kueue (u)", User: "u", LeftOut: 3, Items: []control.PermissionUse{
		both, use("list", "", "pods", ""), use("update", "coordination.k8s.io", "leases", "a"),
	}}
	if diff := cmp.Diff(want, Merge(lists)); diff != "" {
		t.Error(diff)
	}
	if lists[0].Items[0].Requests != 1 {
		t.Error("a list was changed")
	}
}

func TestNoPermissions(t *testing.T) {
	if got := For(control.PermissionList{Client: "kubectl (a)"}); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
