package health

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// findCondition returns a condition of status.conditions.
func findCondition(u *unstructured.Unstructured, kind string) (metav1.Condition, bool) {
	for _, c := range readConditions(u) {
		if c.Type == kind {
			return c, true
		}
	}
	return metav1.Condition{}, false
}

func readConditions(u *unstructured.Unstructured) []metav1.Condition {
	found, err := status.GetObjectWithConditions(u.Object)
	if err != nil {
		return nil // the conditions have an unknown form
	}
	value, _, _ := unstructured.NestedFieldNoCopy(u.Object, "status", "conditions")
	raw, _ := value.([]any)
	list := make([]metav1.Condition, len(found.Status.Conditions))
	for i, c := range found.Status.Conditions {
		list[i] = metav1.Condition{Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message}
		if i < len(raw) {
			fields, _ := raw[i].(map[string]any)
			list[i].ObservedGeneration, _ = fields["observedGeneration"].(int64) // which kstatus does not read, nor the time
			since, _ := fields["lastTransitionTime"].(string)
			list[i].LastTransitionTime.Time, _ = time.Parse(time.RFC3339, since) // zero if it has another form
		}
	}
	return list
}

// joinReason returns "REASON: MESSAGE", or the one that is not empty.
func joinReason(reason, message string) string {
	message = strings.TrimRight(message, ": \n") // a probe may have no output
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}

// describeReason adds to a text the reason and the message of a condition, in one line.
func describeReason(what string, c metav1.Condition) string {
	return words.OneLine(joinReason(what, joinReason(c.Reason, c.Message)))
}

// describeCondition says what a condition is, of an object that another one names; of is empty for the object itself.
func describeCondition(c metav1.Condition, of string) string {
	text := fmt.Sprintf("condition %s%s is %s", c.Type, of, c.Status)
	if why := joinReason(c.Reason, c.Message); why != "" {
		text += ": " + strings.TrimSuffix(why, ".")
	}
	return text
}

// conditionPairs matches what operators with operatorpkg, such as Karpenter, have as the message of Ready: the other
// conditions that are not true, without their reasons.
var conditionPairs = regexp.MustCompile(`^[A-Za-z][\w./-]*=(False|Unknown)(, [A-Za-z][\w./-]*=(False|Unknown))*$`)

// expandConditions adds the reasons and messages of the conditions that a message of TYPE=STATUS pairs lists.
func expandConditions(u *unstructured.Unstructured, message string) string {
	if !conditionPairs.MatchString(message) {
		return message
	}
	pairs := strings.Split(message, ", ")
	for i, pair := range pairs {
		kind, stands, _ := strings.Cut(pair, "=")
		if c, found := findCondition(u, kind); found && string(c.Status) == stands {
			pairs[i] = joinReason(pair, strings.TrimSuffix(joinReason(c.Reason, c.Message), "."))
		}
	}
	return strings.Join(pairs, "; ")
}
