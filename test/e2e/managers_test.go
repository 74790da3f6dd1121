package e2e_test

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managersOf returns the managers of an object's fields, each once, by name.
func managersOf(o metav1.Object) []string {
	var names []string
	for _, f := range o.GetManagedFields() {
		names = append(names, f.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func requireManagers(t *testing.T, o metav1.Object, want ...string) {
	t.Helper()
	if got := managersOf(o); !slices.Equal(got, want) {
		t.Errorf("the managers of %T %s are %q, want %q", o, o.GetName(), got, want)
	}
}

// TestFieldManagers checks that the managers of fields are upstream's programs.
func TestFieldManagers(t *testing.T) {
	t.Parallel()
	const manager, server = "kube-controller-manager", "kube-apiserver"
	client := controlPlane.client
	ns := createNamespace(t)
	deployments := client.AppsV1().Deployments(ns)
	created := createObject(t, deployments, newDeployment("registry.invalid/web"))
	deployment := await(t, "a Deployment with Pods", getByName(deployments, created.Name), func(d *appsv1.Deployment) bool { return d.Status.Replicas > 0 })
	if got := managersOf(deployment); !slices.Contains(got, manager) {
		t.Errorf("the managers of the Deployment are %q, which lack %s", got, manager)
	}
	pods, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("%v, %v", pods, err)
	}
	requireManagers(t, &pods.Items[0], manager)
	requireManagers(t, getObject(t, client.CoreV1().ConfigMaps(ns), "kube-root-ca.crt"), manager)
	requireManagers(t, getObject(t, client.CoreV1().Namespaces(), metav1.NamespaceSystem), server)
	roles, err := client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/bootstrapping=rbac-defaults"})
	if err != nil || len(roles.Items) == 0 {
		t.Fatalf("%v, %v", roles, err)
	}
	for i := range roles.Items {
		want := []string{server}
		if roles.Items[i].AggregationRule != nil {
			want = []string{"clusterrole-aggregation-controller", server} // the name with which that applies
		}
		requireManagers(t, &roles.Items[i], want...)
	}
}
