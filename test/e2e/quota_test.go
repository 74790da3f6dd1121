package e2e_test

import (
	"context"
	"testing"

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
