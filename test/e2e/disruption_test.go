package e2e_test

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func evictPod(t *testing.T, ns, name string) error {
	t.Helper()
	return controlPlane.client.PolicyV1().Evictions(ns).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns}})
}

// A percentage is relative to the scale of the Pods' controller. A budget with a
// percentage fails for Pods without a controller.
func TestPodDisruptionBudgetPercentage(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	budgets := controlPlane.client.PolicyV1().PodDisruptionBudgets(ns)
	markPodsReadyExcept(t, ns, "")
	d := newDeployment("registry.invalid/app:1")
	d.Spec.Replicas = new(int32(4))
	createObject(t, deployments(ns), d)
	awaitRollout(t, ns, 4)
	for name, labels := range map[string]map[string]string{"web": webLabels, "bare": {"app": "bare"}} {
		createObject(t, budgets, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromString("50%")), Selector: labelSelector(labels)},
		})
	}
	createObject(t, pods(ns), newPod("bare", map[string]string{"app": "bare"}))
	await(t, "budget of half the deployment", getByName(budgets, "web"), func(b *policyv1.PodDisruptionBudget) bool {
		return b.Status.ExpectedPods == 4 && b.Status.DesiredHealthy == 2 && b.Status.DisruptionsAllowed == 2
	})
	awaitEvent(t, ns, "PodDisruptionBudget", "bare", "UnmanagedPods")
	scaleObject(t, deployments(ns), "web", 2)
	await(t, "budget of half of what is left", getByName(budgets, "web"), func(b *policyv1.PodDisruptionBudget) bool {
		return b.Status.ExpectedPods == 2 && b.Status.DesiredHealthy == 1 && b.Status.DisruptionsAllowed == 1
	})
}
