package health

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// kills has what an event Killing of a kubelet says of a container that a probe or a hook stops, and the warning that
// has its output.
var kills = []struct{ killing, reason, warning string }{
	{"failed liveness probe", "Unhealthy", "Liveness probe "},
	{"failed startup probe", "Unhealthy", "Startup probe "},
	{"FailedPostStartHook", "FailedPostStartHook", ""},
}

// addKill adds to the problem of a Pod whose container has ended the warning of the probe or hook for which the kubelet has
// stopped it: the exit code is that of a signal, or what the program makes of it.
func (s *reasonSearch) addKill(p problem, u *unstructured.Unstructured) string {
	defer s.ignoreErrors()()
	events := slices.DeleteFunc(s.eventsAbout(u), func(e *corev1.Event) bool {
		return !strings.HasSuffix(e.InvolvedObject.FieldPath, "{"+p.container+"}")
	})
	since := p.end.StartedAt.Time
	if p.end.Reason == "Error" && (p.end.ExitCode == 137 || p.end.ExitCode == 143) { // a kubelet drops events after the first 25
		since = time.Time{}
	}
	var reasons []*corev1.Event
	for _, k := range kills {
		killing := newestEvent(events, func(e *corev1.Event) bool {
			return e.Reason == "Killing" && strings.Contains(e.Message, k.killing) && !eventTime(e).Before(since)
		})
		warning := newestEvent(events, func(e *corev1.Event) bool {
			return e.Reason == k.reason && strings.HasPrefix(e.Message, k.warning)
		})
		if killing != nil && warning != nil {
			reasons = append(reasons, warning)
		}
	}
	if last := newestEvent(reasons, isWarning); last != nil {
		return joinTexts(p.text, "last warning: "+joinReason(last.Reason, last.Message))
	}
	return p.text
}
