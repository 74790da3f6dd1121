package health

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// explainDisruptionBudget says that a PodDisruptionBudget never allows an eviction, protects no Pod, or shares Pods with another one.
func (s *reasonSearch) explainDisruptionBudget(u *unstructured.Unstructured) string {
	var budget policyv1.PodDisruptionBudget
	if err := convertObject(u, &budget); err != nil {
		s.recordError(err)
		return ""
	}
	effect := ""
	if !isUnobserved(u) {
		effect = s.explainAllowance(u, &budget)
	}
	return joinTexts(effect, s.explainSharedPods(&budget))
}

// explainAllowance says that a PodDisruptionBudget never allows an eviction, or protects no Pod. Its controller counts none also if it
// cannot tell how many there should be.
func (s *reasonSearch) explainAllowance(u *unstructured.Unstructured, budget *policyv1.PodDisruptionBudget) string {
	status := &budget.Status
	if c, _ := findCondition(u, policyv1.DisruptionAllowedCondition); c.Reason == policyv1.SyncFailedReason {
		return "its " + describeCondition(c, "")
	}
	if status.ExpectedPods > 0 && status.DisruptionsAllowed == 0 && min(status.CurrentHealthy, status.DesiredHealthy) >= status.ExpectedPods {
		return fmt.Sprintf("it allows no eviction although all of its Pods are healthy: it requires %d of %d", status.DesiredHealthy, status.ExpectedPods)
	}
	if status.ExpectedPods > 0 {
		return ""
	}
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return ""
	}
	const nothing = "its selector matches no Pod"
	if budget.Spec.Selector == nil {
		return nothing
	}
	if pods := s.list(coreResource("pods"), u.GetNamespace(), metav1.ListOptions{LabelSelector: selector.String(), Limit: 1}); len(pods) > 0 || s.err != nil {
		return ""
	}
	return nothing
}

// maxShared is how many Pods and PodDisruptionBudgets are named that share each other.
const maxShared = 3

// explainSharedPods says that another PodDisruptionBudget selects Pods of one, too: the API server refuses to evict those.
func (s *reasonSearch) explainSharedPods(budget *policyv1.PodDisruptionBudget) string {
	others := slices.DeleteFunc(slices.Clone(s.budgetsIn(budget.Namespace)), func(b selectingBudget) bool { return b.name == budget.Name })
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if len(others) == 0 || err != nil || budget.Spec.Selector == nil { // without one it selects nothing, and the text of that selector is that of all
		return ""
	}
	var shared, by []string
	for _, pod := range s.list(coreResource("pods"), budget.Namespace, metav1.ListOptions{LabelSelector: selector.String(), Limit: maxListed}) {
		if names := namesOf(others, &pod); len(names) > 0 && needsBudget(&pod) {
			shared, by = append(shared, pod.GetName()), append(by, names...)
		}
	}
	slices.Sort(by)
	by = slices.Compact(by)
	if len(shared) == 0 {
		return ""
	}
	pod, it, budgets := "Pod", "it", "PodDisruptionBudget %s selects"
	if len(shared) > 1 {
		pod, it = "Pods", "them"
	}
	if len(by) > 1 {
		budgets = "PodDisruptionBudgets %s select"
	}
	return fmt.Sprintf("its %s %s cannot be evicted: "+budgets+" %s, too, and an eviction supports only one for each Pod", pod, words.First(shared, maxShared), words.First(by, maxShared), it)
}

// explainSeveralBudgets says that the API server refuses to evict a Pod because several PodDisruptionBudgets select it.
func (s *reasonSearch) explainSeveralBudgets(u *unstructured.Unstructured) string {
	if !needsBudget(u) {
		return ""
	}
	names := namesOf(s.budgetsIn(u.GetNamespace()), u)
	if len(names) < 2 {
		return ""
	}
	return fmt.Sprintf("it cannot be evicted: PodDisruptionBudgets %s select it, and an eviction supports only one for each Pod", words.First(names, maxShared))
}

// needsBudget reports whether the API server asks the PodDisruptionBudgets of a Pod before it evicts it.
func needsBudget(pod *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	return phase == string(corev1.PodRunning) && pod.GetDeletionTimestamp() == nil
}

// selectingBudget is a PodDisruptionBudget.
type selectingBudget struct {
	name    string
	selects labels.Selector
}

func namesOf(budgets []selectingBudget, pod *unstructured.Unstructured) (names []string) {
	for _, b := range budgets {
		if b.selects.Matches(labels.Set(pod.GetLabels())) {
			names = append(names, b.name)
		}
	}
	return names
}

// budgetsIn returns the PodDisruptionBudgets in a namespace. That they cannot be listed is not an error of the search.
func (s *reasonSearch) budgetsIn(namespace string) (found []selectingBudget) {
	defer s.ignoreErrors()()
	for _, u := range s.listAll(policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), namespace) {
		var budget policyv1.PodDisruptionBudget
		if convertObject(&u, &budget) != nil {
			continue
		}
		if selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector); err == nil {
			found = append(found, selectingBudget{budget.Name, selector})
		}
	}
	return found
}
