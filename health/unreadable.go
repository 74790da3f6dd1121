package health

import (
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// judgeUnreadable judges a custom resource whose status kstatus cannot read, and of which it knows no state. A Rollout of
// Argo is one: its observedGeneration is a string. The rule for its kind decides if it has one, otherwise the usual conditions:
// one of them has to say that the object is healthy, and none that it is not.
func (s *State) judgeUnreadable(u *unstructured.Unstructured) {
	u, left := readable(u)
	result, err := status.Compute(u)
	if err != nil {
		s.Status, s.Message = Unknown, words.OneLine("its status cannot be read: "+err.Error())
		return
	}
	s.setResult(u, result)
	switch {
	case s.Status != Current || hasCustomRule(u):
	case left != "":
		s.Status, s.Message = Unknown, left
	case s.Doubt != "":
		s.Status, s.Message, s.Doubt = InProgress, s.Doubt, ""
	case !slices.ContainsFunc(readConditions(u), saysHealthy):
		s.Status, s.Message = InProgress, "none of its conditions says that it is healthy"
	}
}

func saysHealthy(c metav1.Condition) bool {
	return slices.Contains(conditionsOfSuccess, c.Type) && c.Status == metav1.ConditionTrue
}

// readable returns a copy of an object that kstatus can read: with an observedGeneration that is an integer, or none, and
// without a status and conditions of another form, as in a map by type. left says what it leaves out of these two.
func readable(u *unstructured.Unstructured) (copied *unstructured.Unstructured, left string) {
	u = u.DeepCopy()
	content, isMap := u.Object["status"].(map[string]any)
	if !isMap {
		delete(u.Object, "status")
		return u, "its status is not an object"
	}
	if _, isInteger := content["observedGeneration"].(int64); !isInteger {
		text, _ := content["observedGeneration"].(string)
		delete(content, "observedGeneration")
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n <= u.GetGeneration() { // otherwise a hash, as of old Rollouts
			content["observedGeneration"] = n
		}
	}
	if left = checkConditions(content["conditions"]); left != "" {
		delete(content, "conditions")
	}
	return u, left
}

// checkConditions says what keeps the conditions of a status from being read, and where; "" if nothing does.
func checkConditions(conditions any) string {
	list, isList := conditions.([]any)
	if conditions != nil && !isList {
		return "its status.conditions is not a list"
	}
	for i, c := range list {
		fields, isMap := c.(map[string]any)
		if !isMap {
			return fmt.Sprintf("its status.conditions[%d] is not an object", i)
		}
		for _, name := range []string{"type", "status", "reason", "message"} {
			if _, isText := fields[name].(string); fields[name] != nil && !isText {
				return fmt.Sprintf("its status.conditions[%d].%s is not a string", i, name)
			}
		}
	}
	return ""
}
