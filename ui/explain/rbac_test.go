package explain

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	rbac "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"
)

func objectMeta(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace}
}

var (
	jobAccount   = rbacv1.Subject{Kind: "ServiceAccount", Namespace: "kube-system", Name: "job-controller"}
	otherAccount = rbacv1.Subject{Kind: "ServiceAccount", Namespace: "default", Name: "job-controller"}

	testRoles = map[string]runtime.Object{
		"clusterroles": &rbacv1.ClusterRoleList{Items: []rbacv1.ClusterRole{
			{ObjectMeta: objectMeta("jobs", ""), Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{"batch", "extensions"}, Resources: []string{"jobs", "jobs/status"}, Verbs: []string{"update", "get"}},
				{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
			}},
			{ObjectMeta: objectMeta("view", ""), Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}},
		}},
		"roles": &rbacv1.RoleList{Items: []rbacv1.Role{
			{ObjectMeta: objectMeta("view", "kube-public"), Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"cluster-info"}, Verbs: []string{"update"}},
			}},
		}},
		"clusterrolebindings": &rbacv1.ClusterRoleBindingList{Items: []rbacv1.ClusterRoleBinding{
			{RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "jobs"}, Subjects: []rbacv1.Subject{otherAccount, jobAccount}},
			{RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "view"}, Subjects: []rbacv1.Subject{{Kind: "Group", Name: "system:masters"}}},
			{RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "gone"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "system:kube-scheduler"}}},
		}},
		"rolebindings": &rbacv1.RoleBindingList{Items: []rbacv1.RoleBinding{
			{ObjectMeta: objectMeta("a", "kube-public"), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "view"}, Subjects: []rbacv1.Subject{jobAccount}},
			{ObjectMeta: objectMeta("b", "shop"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "view"}, Subjects: []rbacv1.Subject{jobAccount}},
		}},
	}
)

// newRolesServer serves testRoles, and refuses one resource.
func newRolesServer(t *testing.T, refused string) rbac.RbacV1Interface {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		resource := req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]
		if resource == refused {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(testRoles[resource]); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(srv.Close)
	client, err := rbac.NewForConfig(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestPermissionsFollowBindings(t *testing.T) {
	r, err := ReadRBAC(t.Context(), newRolesServer(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	user := "system:serviceaccount:kube-system:job-controller"
	get := []string{"get"}
	for _, tc := range []struct {
		who  []string
		want []Permission
	}{
		{userNames([]string{"job-controller"}), []Permission{
			{User: user, Role: "ClusterRole jobs", Rules: []Rule{
				{Verbs: []string{"get", "update"}, On: []string{"jobs.batch", "jobs.batch/status", "jobs.extensions", "jobs.extensions/status"}},
				{Verbs: get, On: []string{"/metrics"}},
			}},
			{User: user, Role: "Role view", Namespace: "kube-public", Rules: []Rule{
				{Verbs: []string{"update"}, On: []string{"configmaps"}, Named: []string{"cluster-info"}},
			}},
			{User: user, Role: "ClusterRole view", Namespace: "shop", Rules: []Rule{{Verbs: get, On: []string{"pods"}}}},
		}},
		{userNames([]string{"group:system:masters"}), []Permission{
			{User: "group:system:masters", Role: "ClusterRole view", Rules: []Rule{{Verbs: get, On: []string{"pods"}}}},
		}},
		{userNames([]string{"system:kube-scheduler"}), []Permission{{User: "system:kube-scheduler", Role: "ClusterRole gone"}}},
		{userNames([]string{"unbound", "system:masters"}), nil},
		{nil, nil},
	} {
		if diff := cmp.Diff(tc.want, r.Permissions(tc.who)); diff != "" {
			t.Errorf("%v: -want +got:\n%s", tc.who, diff)
		}
	}
}

func TestReadRBACReportsRefusals(t *testing.T) {
	for resource := range testRoles {
		if r, err := ReadRBAC(t.Context(), newRolesServer(t, resource)); err == nil || !strings.HasPrefix(err.Error(), "explain: permissions: ") {
			t.Errorf("%s: %v, %v", resource, r, err)
		}
	}
}
