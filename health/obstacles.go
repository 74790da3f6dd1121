package health

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// abnormal matches the types of conditions that are False of a healthy object: by the usual words for what goes wrong, or for a
// change that is under way. Those that normal matches, too, are True of a healthy object, as ProvisioningSucceeded.
var abnormal = regexp.MustCompile(`Fail|Error|Degrad|Stall|Stale|Unavailable|Unhealthy|Unreachable|Unschedulable|Invalid|Denied|Conflict|Missing|Blocked|` +
	`Pressure|Exceeded|Exhausted|Expired|Overlap|Drift|Deprecat|Evict|Preempt|Requeue|Deactivat|Disrupt|Suspend|Paus|Delet|Terminat|` +
	`Pending|Waiting|(?:Progress|Reconcil|Issu|Updat|Upgrad|Scal|Remediat|Rotat|Migrat|Creat|Initializ|Provision)ing|InProgress|(?:Scaling|Rolling)[A-Z]`)

// normal matches the types of conditions that say that something has gone well, or that nothing goes wrong.
var normal = regexp.MustCompile(`^No[A-Z]|(?:Succeeded|Successful|Complete|Completed|Finished|Done|Ready|Resolved|Allowed|Active|Available|` +
	`Enabled|Configured|Healthy|Protected|Accepted|OK)$`)

// obstacles returns the conditions that say what an object waits for: those that are False or Unknown and should be True, and
// those that are True and should be False, as Evicted. Of several with the same message it returns the first.
func obstacles(conditions []metav1.Condition) (found []metav1.Condition) {
	for _, c := range conditions {
		isObstacle := isUnmet(c) || c.Status == metav1.ConditionTrue && isAbnormal(c)
		if isObstacle && c.Message != "" && !slices.ContainsFunc(found, func(f metav1.Condition) bool { return f.Message == c.Message }) {
			found = append(found, c)
		}
	}
	return found
}

// isUnmet reports whether a condition is False or Unknown and should be True, as far as its type says.
func isUnmet(c metav1.Condition) bool {
	return (c.Status == metav1.ConditionFalse || c.Status == metav1.ConditionUnknown) && !isAbnormal(c)
}

func isMet(c metav1.Condition) bool {
	return c.Status == metav1.ConditionTrue && !isAbnormal(c)
}

// isAbnormal reports whether a condition should be False, as far as its type says.
func isAbnormal(c metav1.Condition) bool {
	return abnormal.MatchString(c.Type) && !normal.MatchString(c.Type)
}

// waitingDoubts says what a custom resource waits for none of whose usual conditions says so. As the meaning of the others
// is up to their authors, they count only while none of them has become true.
func waitingDoubts(u *unstructured.Unstructured) (doubts []string) {
	conditions := readConditions(u)
	if slices.ContainsFunc(conditions, isMet) {
		return nil
	}
	if text := notReadyField(u); text != "" {
		doubts = append(doubts, text)
	}
	if found := obstacles(conditions); slices.ContainsFunc(found, isUnmet) {
		for _, c := range found {
			doubts = append(doubts, "its "+describeCondition(c, ""))
		}
	}
	return doubts
}

// notReadyField says that status.ready is false, or that of an object in the status that has conditions, as Kyverno's policies
// do, and why; "" if it is not.
func notReadyField(u *unstructured.Unstructured) string {
	content, _ := u.Object["status"].(map[string]any)
	if ready, isBool := content["ready"].(bool); isBool && !ready {
		return joinReason("its status.ready is false", nestedReason(content))
	}
	for _, name := range slices.Sorted(maps.Keys(content)) {
		nested, _ := content[name].(map[string]any)
		if ready, isBool := nested["ready"].(bool); isBool && !ready && nested["conditions"] != nil {
			return joinReason(fmt.Sprintf("its status.%s.ready is false", name), explainNested(nested))
		}
	}
	return ""
}

// nestedReason returns what the objects in a status that have conditions say of why it is not ready.
func nestedReason(content map[string]any) string {
	var reasons []string
	for _, name := range slices.Sorted(maps.Keys(content)) {
		if nested, _ := content[name].(map[string]any); nested["conditions"] != nil {
			reasons = append(reasons, explainNested(nested))
		}
	}
	return joinTexts(reasons...)
}

func explainNested(nested map[string]any) string {
	message, _ := nested["message"].(string)
	reasons := []string{message}
	for _, c := range obstacles(readConditions(&unstructured.Unstructured{Object: map[string]any{"status": nested}})) {
		reasons = append(reasons, describeCondition(c, ""))
	}
	return joinTexts(reasons...)
}

// explainObstacles says what a Job or a Pod waits for that an operator keeps from starting: one that queues them says so in a
// custom resource that they own.
func (s *reasonSearch) explainObstacles(u *unstructured.Unstructured) string {
	var reasons []string
	defer s.ignoreErrors()()
	resources, err := s.customResources()
	if err != nil {
		s.recordError(err)
	}
	for _, r := range resources {
		for _, owned := range s.listOwned(r, u) {
			for _, c := range obstacles(readConditions(&owned)) {
				reasons = append(reasons, describeCondition(c, fmt.Sprintf(" of %s %s", owned.GetKind(), owned.GetName())))
			}
		}
	}
	return joinTexts(reasons...)
}
