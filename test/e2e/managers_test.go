package e2e_test

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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
	root := await(t, "the certificate of the CA", getByName(client.CoreV1().ConfigMaps(ns), "kube-root-ca.crt"), anyState)
	requireManagers(t, root, manager)
	quotas := client.CoreV1().ResourceQuotas(ns)
	quota := createObject(t, quotas, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "quota"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"configmaps": resource.MustParse("9"), corev1.ResourceServices: resource.MustParse("0")}},
	})
	used := func(n string) func(*corev1.ResourceQuota) bool {
		return func(q *corev1.ResourceQuota) bool {
			return q.Status.Used.Name("configmaps", resource.DecimalSI).String() == n
		}
	}
	await(t, "a counted quota", getByName(quotas, quota.Name), used("1"))
	awaitQuotaInForce(t, dryRunCreate(client.CoreV1().Services(ns), newService("none")))
	createObject(t, client.CoreV1().ConfigMaps(ns), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one"}})
	quota = await(t, "a charged quota", getByName(quotas, quota.Name), used("2"))
	if got := managersOf(quota); !slices.Contains(got, server) { // its admission writes the status
		t.Errorf("the managers of the quota are %q, which lack %s", got, server)
	}
	requireManagers(t, getObject(t, client.CoreV1().Namespaces(), metav1.NamespaceSystem), server)
	isAggregated := func(r rbacv1.ClusterRole) bool { return r.AggregationRule == nil || len(managersOf(&r)) > 1 }
	roles := await(t, "aggregated ClusterRoles", listBySelector(client.RbacV1().ClusterRoles(), "kubernetes.io/bootstrapping=rbac-defaults"), func(l *rbacv1.ClusterRoleList) bool {
		return len(l.Items) > 0 && !slices.ContainsFunc(l.Items, func(r rbacv1.ClusterRole) bool { return !isAggregated(r) })
	})
	for i := range roles.Items {
		want := []string{server}
		if roles.Items[i].AggregationRule != nil {
			want = []string{"clusterrole-aggregation-controller", server} // the name with which that applies
		}
		requireManagers(t, &roles.Items[i], want...)
	}
}
