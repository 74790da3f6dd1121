package health

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// doubtDisruptionBudget says that a PodDisruptionBudget never allows an eviction, protects no Pod, or shares Pods with another one.
func (s *reasonSearch) doubtDisruptionBudget(u *unstructured.Unstructured, budget *policyv1.PodDisruptionBudget) string {
	effect := ""
	if !isUnobserved(u) {
		effect = s.doubtAllowance(u, budget)
	}
	return joinTexts(effect, s.doubtSharedPods(budget))
}

// doubtAllowance says that a PodDisruptionBudget never allows an eviction, or protects no Pod. Its controller counts none also if it
// cannot tell how many there should be.
func (s *reasonSearch) doubtAllowance(u *unstructured.Unstructured, budget *policyv1.PodDisruptionBudget) string {
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
	selected := budget.Spec.Selector != nil && slices.ContainsFunc(s.podsFor(u.GetNamespace(), selector, 1), func(p labeledPod) bool { return selector.Matches(p.labels) })
	if selected || s.err != nil {
		return ""
	}
	return "its selector matches no Pod"
}

// maxShared is how many Pods and PodDisruptionBudgets are named that share each other.
const maxShared = 3

// doubtSharedPods says that another PodDisruptionBudget selects Pods of one, too: the API server refuses to evict those.
func (s *reasonSearch) doubtSharedPods(budget *policyv1.PodDisruptionBudget) string {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil || budget.Spec.Selector == nil || len(s.budgetsIn(budget.Namespace)) < 2 { // without a selector it selects nothing, but its text is that of all
		return ""
	}
	var shared, by []string
	for _, g := range s.sharedPods(budget.Namespace, selector) {
		if slices.Contains(g.budgets, budget.Name) {
			shared, by = append(shared, g.pods...), append(by, g.budgets...)
		}
	}
	slices.Sort(shared)
	slices.Sort(by)
	by = slices.DeleteFunc(slices.Compact(by), func(name string) bool { return name == budget.Name })
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

// doubtSeveralBudgets says that the API server refuses to evict a Pod because several PodDisruptionBudgets select it.
func (s *reasonSearch) doubtSeveralBudgets(u *unstructured.Unstructured) string {
	if !needsBudget(u) {
		return ""
	}
	names := namesOf(s.budgetsIn(u.GetNamespace()), u.GetLabels())
	if len(names) < 2 {
		return ""
	}
	return fmt.Sprintf("it cannot be evicted: PodDisruptionBudgets %s select it, and an eviction supports only one for each Pod", words.First(names, maxShared))
}

// needsBudget reports whether the API server asks the PodDisruptionBudgets of a Pod before it evicts it, as its canIgnorePDB does.
func needsBudget(pod *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	finished := phase == string(corev1.PodSucceeded) || phase == string(corev1.PodFailed)
	return phase != string(corev1.PodPending) && !finished && pod.GetDeletionTimestamp() == nil
}

// selectingBudget is a PodDisruptionBudget.
type selectingBudget struct {
	name    string
	selects labels.Selector
}

func namesOf(budgets []selectingBudget, pod labels.Set) (names []string) {
	for _, b := range budgets {
		if b.selects.Matches(pod) {
			names = append(names, b.name)
		}
	}
	return names
}

// disruptions are the PodDisruptionBudgets and Pods in a namespace, for searches that share a cache.
type disruptions struct {
	budgets []selectingBudget
	pods    []labeledPod
	shared  []sharedPods
}

// labeledPod is a Pod as PodDisruptionBudgets select it.
type labeledPod struct {
	name        string
	labels      labels.Set
	needsBudget bool
}

// sharedPods are Pods that several PodDisruptionBudgets select, the same ones.
type sharedPods struct{ budgets, pods []string }

// budgetsIn returns the PodDisruptionBudgets in a namespace. That they cannot be listed is not an error of the search.
func (s *reasonSearch) budgetsIn(namespace string) []selectingBudget {
	known := s.cache.disruptionsIn(namespace)
	if known.budgets != nil {
		return known.budgets
	}
	defer s.ignoreErrors()()
	known.budgets = []selectingBudget{}
	for _, u := range s.listAll(policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), namespace) {
		var budget policyv1.PodDisruptionBudget
		if convertObject(&u, &budget) != nil {
			continue
		}
		if selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector); err == nil {
			known.budgets = append(known.budgets, selectingBudget{budget.Name, selector})
		}
	}
	return known.budgets
}

// podsFor returns the Pods in a namespace, at least those that a selector matches, up to a limit: searches that share a cache take
// one list for all selectors.
func (s *reasonSearch) podsFor(namespace string, selector labels.Selector, limit int64) (pods []labeledPod) {
	if s.single {
		return labeledPods(s.list(coreResource("pods"), namespace, metav1.ListOptions{LabelSelector: selector.String(), Limit: limit}))
	}
	known := s.cache.disruptionsIn(namespace)
	list := s.listAll(coreResource("pods"), namespace) // records the error if there is one
	if known.pods == nil {
		known.pods = labeledPods(list)
	}
	return known.pods
}

func labeledPods(list []unstructured.Unstructured) []labeledPod {
	pods := make([]labeledPod, len(list))
	for i := range list {
		pods[i] = labeledPod{list[i].GetName(), list[i].GetLabels(), needsBudget(&list[i])}
	}
	return pods
}

// sharedPods returns the Pods in a namespace that several PodDisruptionBudgets select, at least those that a selector matches.
func (s *reasonSearch) sharedPods(namespace string, selector labels.Selector) []sharedPods {
	pods, budgets := s.podsFor(namespace, selector, maxListed), s.budgetsIn(namespace)
	known := s.cache.disruptionsIn(namespace)
	if known.shared != nil {
		return known.shared
	}
	known.shared = []sharedPods{}
	places := map[string]int{} // in shared
	for _, pod := range pods {
		names := namesOf(budgets, pod.labels)
		if len(names) < 2 || !pod.needsBudget {
			continue
		}
		key := strings.Join(names, ",")
		at, isKnown := places[key]
		if !isKnown {
			at, places[key] = len(known.shared), len(known.shared)
			known.shared = append(known.shared, sharedPods{budgets: names})
		}
		known.shared[at].pods = append(known.shared[at].pods, pod.name)
	}
	return known.shared
}
