package e2e_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func evictPod(t *testing.T, ns, name string) error {
	t.Helper()
	return controlPlane.client.PolicyV1().Evictions(ns).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns}})
}

func TestPodDisruptionBudget(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	sets, budgets := controlPlane.client.AppsV1().ReplicaSets(ns), controlPlane.client.PolicyV1().PodDisruptionBudgets(ns)
	createObject(t, sets, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(3)), Selector: labelSelector(webLabels), Template: podTemplate(webLabels)},
	})
	list := awaitPods(t, ns, "app=web", 3)
	createObject(t, budgets, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(1)), Selector: labelSelector(webLabels)},
	})
	awaitBudget := func(what string, healthy, allowed int32) *policyv1.PodDisruptionBudget {
		t.Helper()
		return await(t, what, getByName(budgets, "web"), func(b *policyv1.PodDisruptionBudget) bool {
			s := b.Status
			return s.ObservedGeneration == b.Generation && s.ExpectedPods == 3 && s.DesiredHealthy == 2 &&
				s.CurrentHealthy == healthy && s.DisruptionsAllowed == allowed && len(s.DisruptedPods) == 0
		})
	}
	awaitBudget("budget without healthy pods", 0, 0)
	markReady(t, list[0], list[1])
	b := awaitBudget("budget with 2 healthy pods", 2, 0)
	if c := meta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition); c == nil || c.Status != metav1.ConditionFalse || c.Reason != policyv1.InsufficientPodsReason {
		t.Errorf("condition %+v", c)
	}
	err := evictPod(t, ns, list[0].Name)
	if !apierrors.IsTooManyRequests(err) || !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		t.Errorf("eviction beyond the budget: got %v, want 429 with its cause", err)
	}
	getObject(t, pods(ns), list[0].Name)

	markReady(t, list[2])
	b = awaitBudget("budget with 3 healthy pods", 3, 1)
	if c := meta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("condition %+v", c)
	}
	leaving := recordDeletions(t, ns)
	if err := evictPod(t, ns, list[0].Name); err != nil {
		t.Fatalf("eviction within the budget: %v", err)
	}
	awaitGone(t, "evicted pod", getByName(pods(ns), list[0].Name))
	if p := leaving(list[0].UID); !hasPodCondition(p, corev1.DisruptionTarget, "EvictionByEvictionAPI") {
		t.Errorf("conditions of the evicted pod: %s", toYAML(p.Status.Conditions))
	}
	if err := evictPod(t, ns, list[1].Name); !apierrors.IsTooManyRequests(err) {
		t.Errorf("a second eviction at once: got %v, want 429", err)
	}

	// The replacement restores the budget.
	awaitBudget("budget after the eviction", 2, 0)
	markReady(t, awaitPods(t, ns, "app=web", 3)...)
	awaitBudget("restored budget", 3, 1)
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
