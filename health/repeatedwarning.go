package health

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// An operator that still fails has warned again after at most the longest delay: one beside which a condition says what is not as it
// should be, or one that alone makes it doubtful that an object is healthy. Of controller-runtime, the longest is 16 m 40 s.
const (
	maxRetryDelay = 17 * time.Minute
	maxWarningAge = 5 * time.Minute
	minWarnings   = 3 // fewer are of conflicts, or of a start
)

// doubtRepeatedWarning says that an operator keeps failing for a custom resource, as repeatedWarning finds. Beside it the conditions
// count that say what is not as it should be, although others, such as NoWarnings, are True, unless they changed after the last
// warning. An object with the condition Ready says by that whether it is healthy.
func (s *reasonSearch) doubtRepeatedWarning(u *unstructured.Unstructured) string {
	if !kinds.IsCustom(kindOf(u)) || hasCustomRule(u) {
		return ""
	}
	if _, saysSo := findCondition(u, "Ready"); saysSo {
		return ""
	}
	w := repeatedWarning(u, s.warningsAbout(u))
	if w.times < minWarnings || metSince(u, eventTime(w.last)) {
		return ""
	}
	ago, said := time.Since(eventTime(w.last)), joinReason(w.last.Reason, w.last.Message)
	unmet := slices.DeleteFunc(obstacles(readConditions(u)), func(c metav1.Condition) bool {
		return c.LastTransitionTime.After(eventTime(w.last).Add(warningMargin))
	})
	switch {
	case slices.ContainsFunc(unmet, isUnmet) && w.isGoingOn(maxRetryDelay):
	case w.isGoingOn(maxWarningAge) && !statusTime(u).After(eventTime(w.last)):
		return fmt.Sprintf("it had %s, the last one %s ago: %s", words.Count(w.times, "warning"), words.Duration(ago), said)
	default:
		return ""
	}
	var texts []string
	for _, c := range unmet {
		texts = append(texts, "its "+describeCondition(c, ""))
	}
	text := joinTexts(texts...)
	if saysSame(text, trimStop(joinReason("", w.last.Message))) {
		return text
	}
	return joinTexts(text, fmt.Sprintf("last warning, %s ago: %s", words.Duration(ago), said))
}

// repeated is a warning, or several ones, about an object.
type repeated struct {
	last  *corev1.Event
	first time.Time
	times int32
}

// repeatedWarning returns what the warnings about an object have been since the last change of its spec.
func repeatedWarning(u *unstructured.Unstructured, warnings []*corev1.Event) (w repeated) {
	changed := specTime(u)
	for _, e := range warnings {
		if eventTime(e).Before(changed) {
			continue
		}
		w.times += occurrences(e)
		if first := firstTime(e); w.first.IsZero() || first.Before(w.first) {
			w.first = first
		}
	}
	if w.first.Before(changed) {
		w.first = changed
	}
	w.last = newestEvent(warnings, isWarning)
	return w
}

// isGoingOn reports whether an operator that retries with delays up to a maximum may still fail. A delay is at most twice the one before
// it: once more time has passed than from the first warning to the last one, the next attempt had no warning.
func (w repeated) isGoingOn(maxDelay time.Duration) bool {
	ago, took := time.Since(eventTime(w.last)), eventTime(w.last).Sub(w.first)
	return ago <= took+warningMargin && ago < maxDelay && took < maxDelay*time.Duration(w.times)
}

// metSince reports whether a condition of an object has become as it should be at a time or after it.
func metSince(u *unstructured.Unstructured, at time.Time) bool {
	return slices.ContainsFunc(readConditions(u), func(c metav1.Condition) bool { return isMet(c) && !c.LastTransitionTime.Time.Before(at) })
}

// occurrences returns how often an event has occurred. A series begins with the second time.
func occurrences(e *corev1.Event) int32 {
	if e.Series != nil {
		return max(e.Series.Count, 2)
	}
	return max(e.Count, 1)
}
