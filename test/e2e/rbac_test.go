package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// bootstrapLabel selects the objects of upstream's bootstrap policy.
const bootstrapLabel = "kubernetes.io/bootstrapping=rbac-defaults"

// The bootstrap policy is upstream's: the same roles, rules and bindings.
func TestBootstrapPolicy(t *testing.T) {
	t.Parallel()
	rules := map[string][]rbacv1.PolicyRule{}
	for _, r := range append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...) {
		rules[r.Name] = r.Rules
		if r.AggregationRule != nil {
			rules[r.Name] = nil // written by the aggregation controller
		}
	}
	got := map[string][]rbacv1.PolicyRule{}
	for _, r := range listObjects(t, controlPlane.client.RbacV1().ClusterRoles(), bootstrapLabel).Items {
		got[r.Name] = r.Rules
		if r.AggregationRule != nil {
			got[r.Name] = nil
		}
	}
	if diff := cmp.Diff(rules, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("cluster roles: -upstream +got:\n%s", diff)
	}

	bindings := map[string]string{}
	for _, b := range append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...) {
		bindings[b.Name] = b.RoleRef.Name + " to " + formatSubjects(b.Subjects)
	}
	gotBindings := map[string]string{}
	for _, b := range listObjects(t, controlPlane.client.RbacV1().ClusterRoleBindings(), bootstrapLabel).Items {
		gotBindings[b.Name] = b.RoleRef.Name + " to " + formatSubjects(b.Subjects)
	}
	if diff := cmp.Diff(bindings, gotBindings); diff != "" {
		t.Errorf("cluster role bindings: -upstream +got:\n%s", diff)
	}

	namespaced, gotNamespaced := map[string][]rbacv1.PolicyRule{}, map[string][]rbacv1.PolicyRule{}
	for ns, roles := range bootstrappolicy.NamespaceRoles() {
		for _, r := range roles {
			namespaced[ns+"/"+r.Name] = r.Rules
		}
	}
	for _, r := range listObjects(t, controlPlane.client.RbacV1().Roles(""), bootstrapLabel).Items {
		gotNamespaced[r.Namespace+"/"+r.Name] = r.Rules
	}
	if diff := cmp.Diff(namespaced, gotNamespaced, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("roles: -upstream +got:\n%s", diff)
	}
}

func formatSubjects(list []rbacv1.Subject) string {
	var parts []string
	for _, s := range list {
		parts = append(parts, s.Kind+" "+s.Namespace+"/"+s.Name)
	}
	return strings.Join(parts, ", ")
}

func TestDefaultPriorityClasses(t *testing.T) {
	t.Parallel()
	got := map[string]int32{}
	for _, c := range listObjects(t, controlPlane.client.SchedulingV1().PriorityClasses(), "").Items {
		if strings.HasPrefix(c.Name, "system-") {
			got[c.Name] = c.Value
		}
	}
	want := map[string]int32{"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	// A Pod has the priority of its class.
	ns, name := createNamespace(t), uniqueName("class")
	createShared(t, controlPlane.client.SchedulingV1().PriorityClasses(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 42}, name)
	p := newPod("web", nil)
	p.Spec.PriorityClassName = name
	await(t, "priority of a pod", func(ctx context.Context) (int32, error) {
		made, err := pods(ns).Create(ctx, p, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return 0, err
		}
		return *made.Spec.Priority, nil
	}, func(priority int32) bool { return priority == 42 })
}

func TestClusterRoleAggregation(t *testing.T) {
	t.Parallel()
	roles := controlPlane.client.RbacV1().ClusterRoles()
	label := map[string]string{"e2e.example/part-of": uniqueName("sum")}
	sum := uniqueName("sum")
	createShared(t, roles, &rbacv1.ClusterRole{
		ObjectMeta:      metav1.ObjectMeta{Name: sum},
		AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{*labelSelector(label)}},
		Rules:           []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"delete"}}}, // overwritten by the aggregation
	}, sum)
	part := func(resource string) string {
		name := uniqueName("part")
		createShared(t, roles, &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: label},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get"}}},
		}, name)
		return name
	}
	holds := func(want ...string) {
		t.Helper()
		await(t, "role that sums up "+strings.Join(want, ", "), getByName(roles, sum), func(r *rbacv1.ClusterRole) bool {
			var got []string
			for _, rule := range r.Rules {
				got = append(got, rule.Resources...)
			}
			slices.Sort(got)
			return slices.Equal(got, want)
		})
	}
	first := part("configmaps")
	part("pods")
	holds("configmaps", "pods")
	updateObject(t, roles, first, func(r *rbacv1.ClusterRole) { r.Rules[0].Resources = []string{"secrets"} })
	holds("pods", "secrets")
	deleteObject(t, roles, first)
	holds("pods")
}

// A role that is aggregated to view applies to users that are bound to view.
func TestAggregateToView(t *testing.T) {
	t.Parallel()
	gvr := establishCRD(t, widgetCRD(uniqueName("rbac")))
	name := uniqueName("jane")
	bindClusterRole(t, "view", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name})
	may := func(verb string) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			review, err := controlPlane.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: name, ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: "default", Verb: verb, Group: gvr.Group, Resource: gvr.Resource,
				}},
			}, metav1.CreateOptions{})
			if err != nil {
				return false, err
			}
			return review.Status.Allowed, nil
		}
	}
	if yes, err := may("list")(t.Context()); yes || err != nil {
		t.Errorf("a viewer may list the custom resource before it is let: %v, %v", yes, err)
	}
	role := uniqueName("view")
	createShared(t, controlPlane.client.RbacV1().ClusterRoles(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: role, Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{gvr.Group}, Resources: []string{gvr.Resource}, Verbs: []string{"list"}}},
	}, role)
	await(t, "right to list the custom resource", may("list"), func(yes bool) bool { return yes })
	if yes, err := may("delete")(t.Context()); yes || err != nil {
		t.Errorf("a viewer may delete the custom resource: %v, %v", yes, err)
	}
}

// A user cannot grant rights that the user does not have.
func TestRoleEscalationIsRefused(t *testing.T) {
	t.Parallel()
	ns, name := createNamespace(t), uniqueName("jane")
	createObject(t, controlPlane.client.RbacV1().RoleBindings(ns), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "admin"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	})
	jane := clientFor(t, impersonatingConfig(name))
	role := func(resource string) *rbacv1.Role {
		return &rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Name: resource},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"create"}}},
		}
	}
	await(t, "role within her rights", func(ctx context.Context) (*rbacv1.Role, error) {
		return jane.RbacV1().Roles(ns).Create(ctx, role("pods"), metav1.CreateOptions{})
	}, anyState)
	_, err := jane.RbacV1().Roles(ns).Create(t.Context(), role("resourcequotas"), metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "attempting to grant RBAC permissions not currently held") {
		t.Errorf("role beyond her rights: got %v, want 403", err)
	}
}
