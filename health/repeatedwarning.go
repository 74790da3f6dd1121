package health

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// maxWarningAge is how long ago the last repetition of a warning may be that alone makes it doubtful that an object is healthy.
const maxWarningAge = 5 * time.Minute

// doubtRepeatedWarning says that an operator keeps failing for a custom resource: it has repeated a warning since the last change of
// the object's spec, and has reported no success since. Beside it the conditions count that say what is not as it should be,
// although others, such as NoWarnings, are True. An object with the condition Ready says by that whether it is healthy.
func (s *reasonSearch) doubtRepeatedWarning(u *unstructured.Unstructured) string {
	if !kinds.IsCustom(kindOf(u)) || hasCustomRule(u) {
		return ""
	}
	if _, saysSo := findCondition(u, "Ready"); saysSo {
		return ""
	}
	defer s.ignoreErrors()()
	last, times := s.repeatedWarning(u)
	if last == nil || isSolved(u, last) {
		return ""
	}
	unmet := obstacles(readConditions(u))
	ago := time.Since(eventTime(last))
	switch {
	case slices.ContainsFunc(unmet, isUnmet):
	case ago < maxWarningAge:
		return fmt.Sprintf("it had %s, the last one %s ago: %s", words.Count(times, "warning"), words.Duration(ago), joinReason(last.Reason, last.Message))
	default:
		return ""
	}
	var texts []string
	for _, c := range unmet {
		texts = append(texts, "its "+describeCondition(c, ""))
	}
	text := joinTexts(texts...)
	if saysSame(text, trimStop(joinReason("", last.Message))) {
		return text
	}
	return joinTexts(text, fmt.Sprintf("last warning, %s ago: %s", words.Duration(ago), joinReason(last.Reason, last.Message)))
}

// repeatedWarning returns the last warning about an object, and how many there were since the last change of its spec; none if there
// was only one.
func (s *reasonSearch) repeatedWarning(u *unstructured.Unstructured) (last *corev1.Event, times int32) {
	warnings := slices.DeleteFunc(s.eventsAbout(u), func(e *corev1.Event) bool { return !isWarning(e) || isBeforeChange(u, e) })
	for _, e := range warnings {
		times += occurrences(e)
	}
	if times < 2 {
		return nil, 0
	}
	return newestEvent(warnings, isWarning), times
}

// occurrences returns how often an event has occurred. A series begins with the second time.
func occurrences(e *corev1.Event) int32 {
	if e.Series != nil {
		return max(e.Series.Count, 2)
	}
	return max(e.Count, 1)
}
