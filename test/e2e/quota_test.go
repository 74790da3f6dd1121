package e2e_test

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// awaitQuotaUsed waits until the quota has the given usage; other resources are ignored.
func awaitQuotaUsed(t *testing.T, ns string, want map[corev1.ResourceName]string) {
	t.Helper()
	await(t, "quota with "+toYAML(want), getByName(controlPlane.client.CoreV1().ResourceQuotas(ns), "limit"), func(q *corev1.ResourceQuota) bool {
		for name, used := range want {
			if got, ok := q.Status.Used[name]; !ok || got.Cmp(resource.MustParse(used)) != 0 {
				return false
			}
		}
		return true
	})
}

// awaitQuotaInForce sends a request that a quota forbids until admission refuses it: admission
// learns of the status of a quota later than a client, and does not count until then.
func awaitQuotaInForce(t *testing.T, send func(context.Context) error) {
	t.Helper()
	_ = awaitRefusal(t, "more than the quota", "exceeded quota", send)
}

func TestResourceQuota(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	before := map[string]string{"app": "before"} // counted although it exists before the quota
	createObject(t, controlPlane.client.AppsV1().ReplicaSets(ns), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "before"},
		Spec:       appsv1.ReplicaSetSpec{Selector: labelSelector(before), Template: podTemplate(before)},
	})
	await(t, "pod that controllers know of", getByName(controlPlane.client.AppsV1().ReplicaSets(ns), "before"),
		func(rs *appsv1.ReplicaSet) bool { return rs.Status.Replicas == 1 })
	const deploymentCount = "count/deployments.apps"
	createObject(t, controlPlane.client.CoreV1().ResourceQuotas(ns), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "limit"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			corev1.ResourcePods: resource.MustParse("2"), corev1.ResourceSecrets: resource.MustParse("1"), deploymentCount: resource.MustParse("1"),
			corev1.ResourceServices: resource.MustParse("0"),
		}},
	})
	awaitQuotaUsed(t, ns, map[corev1.ResourceName]string{corev1.ResourcePods: "1", corev1.ResourceSecrets: "0", deploymentCount: "0"})
	awaitQuotaInForce(t, dryRunCreate(controlPlane.client.CoreV1().Services(ns), newService("none")))
	if q := getObject(t, controlPlane.client.CoreV1().ResourceQuotas(ns), "limit"); q.Status.Hard.Pods().Value() != 2 {
		t.Errorf("hard limits in the status: %v", q.Status.Hard)
	}

	secrets := controlPlane.client.CoreV1().Secrets(ns)
	createObject(t, secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "first"}})
	awaitQuotaUsed(t, ns, map[corev1.ResourceName]string{corev1.ResourceSecrets: "1"})
	_, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "second"}}, metav1.CreateOptions{})
	if want := "exceeded quota: limit, requested: secrets=1, used: secrets=1, limited: secrets=1"; !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("second secret: got %v, want 403 with %q", err, want)
	}
	deleteObject(t, secrets, "first")
	awaitQuotaUsed(t, ns, map[corev1.ResourceName]string{corev1.ResourceSecrets: "0"})
	await(t, "room for the second secret", func(ctx context.Context) (*corev1.Secret, error) { // admission learns of it later than the status shows
		return secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "second"}}, metav1.CreateOptions{})
	}, anyState)

	// The quota also applies to controllers.
	createObject(t, controlPlane.client.AppsV1().Deployments(ns), newDeployment("registry.invalid/app:1"))
	awaitQuotaUsed(t, ns, map[corev1.ResourceName]string{corev1.ResourcePods: "2", deploymentCount: "1"})
	awaitPods(t, ns, "app=web", 1)
	rs := await(t, "ReplicaSet with a ReplicaFailure condition", listBySelector(controlPlane.client.AppsV1().ReplicaSets(ns), "app=web"), func(l *appsv1.ReplicaSetList) bool {
		return len(l.Items) == 1 && len(l.Items[0].Status.Conditions) == 1
	}).Items[0]
	if c := rs.Status.Conditions[0]; c.Type != appsv1.ReplicaSetReplicaFailure || !strings.Contains(c.Message, "exceeded quota: limit") {
		t.Errorf("condition %+v", c)
	}
	await(t, "Deployment with a ReplicaFailure condition", getByName(deployments(ns), "web"), func(d *appsv1.Deployment) bool {
		return deploymentCondition(d, appsv1.DeploymentReplicaFailure).Status == corev1.ConditionTrue
	})

	updateObject(t, controlPlane.client.CoreV1().ResourceQuotas(ns), "limit", func(q *corev1.ResourceQuota) {
		q.Spec.Hard[corev1.ResourcePods] = resource.MustParse("10")
	})
	awaitPods(t, ns, "app=web", 3)
	awaitQuotaUsed(t, ns, map[corev1.ResourceName]string{corev1.ResourcePods: "4"})
}

// Compute resources are counted by request, within the quota's scope, and until a Pod
// terminates.
func TestResourceQuotaCompute(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	createObject(t, controlPlane.client.CoreV1().LimitRanges(ns), &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: "defaults"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type:           corev1.LimitTypeContainer,
			DefaultRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("300m")},
		}}},
	})
	createObject(t, controlPlane.client.CoreV1().ResourceQuotas(ns), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "limit"},
		Spec: corev1.ResourceQuotaSpec{
			Hard:   corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("500m")},
			Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotTerminating},
		},
	})
	awaitQuotaUsed(t, ns, map[corev1.ResourceName]string{corev1.ResourceRequestsCPU: "0"})
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	await(t, "default request of a new pod", func(ctx context.Context) (*corev1.Pod, error) {
		return pods(ns).Create(ctx, newPod("first", nil), dryRun)
	}, func(p *corev1.Pod) bool { return p.Spec.Containers[0].Resources.Requests.Cpu().String() == "300m" })

	big := newPod("big", nil)
	big.Spec.Containers[0].Resources = cpuRequests("600m")
	awaitQuotaInForce(t, dryRunCreate(pods(ns), big))

	first := createObject(t, pods(ns), newPod("first", nil))
	awaitQuotaUsed(t, ns, map[corev1.ResourceName]string{corev1.ResourceRequestsCPU: "300m"})
	if _, err := pods(ns).Create(t.Context(), newPod("second", nil), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("second pod: got %v, want 403", err)
	}
	outside := newPod("terminating", nil)
	outside.Spec.ActiveDeadlineSeconds = new(int64(60))
	createObject(t, pods(ns), outside)
	markPhase(t, corev1.PodSucceeded, *first)
	awaitQuotaUsed(t, ns, map[corev1.ResourceName]string{corev1.ResourceRequestsCPU: "0"})
	// Admission learns of the new usage after the controller writes it.
	await(t, "room for a second pod", func(ctx context.Context) (*corev1.Pod, error) {
		return pods(ns).Create(ctx, newPod("second", nil), metav1.CreateOptions{})
	}, func(*corev1.Pod) bool { return true })
}
