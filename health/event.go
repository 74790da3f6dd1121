package health

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// lastWarning returns the latest warning about an object.
func (s *reasonSearch) lastWarning(u *unstructured.Unstructured) string {
	if e := s.latestEvent(u, isWarning); e != nil {
		return joinReason(e.Reason, e.Message)
	}
	return ""
}

// warningMargin is how much older than a condition a warning of the same reconciliation may be: events are written on their
// own, and times have whole seconds.
const warningMargin = 2 * time.Second

// addLastWarning adds the latest warning about an object to what is wrong with it, unless that says the same or is newer, or
// the object has reported a success since. It says so of a warning about an earlier version of what its operator has not observed.
func (s *reasonSearch) addLastWarning(text string, u *unstructured.Unstructured) string {
	e := s.latestEvent(u, isWarning)
	if e == nil || eventTime(e).Before(conditionTime(u, text).Add(-warningMargin)) || isSolved(u, e) || saysSame(text, joinReason("", cmp.Or(e.Message, e.Reason))) {
		return text
	}
	before := ""
	if isUnobserved(u) && isBeforeChange(u, e) {
		before = ", before its last change"
	}
	return joinTexts(text, "last warning"+before+": "+joinReason(e.Reason, e.Message))
}

// saysSame reports whether a warning repeats a text. That of an autoscaler about all of its metrics has the error of the first
// invalid one in other words, but for its end.
func saysSame(text, warning string) bool {
	if _, first, sumsUp := strings.Cut(warning, ", first error is: "); sumsUp {
		return strings.HasSuffix(text, first[strings.LastIndex(first, ": ")+1:])
	}
	return strings.Contains(text, warning)
}

// conditionTime returns since when an object has the condition whose reason and message are a text, or its end, after what
// says the same in other words; zero if that is not known.
func conditionTime(u *unstructured.Unstructured, text string) (since time.Time) {
	for _, c := range readConditions(u) {
		said := words.OneLine(joinReason(c.Reason, c.Message))
		if said != "" && (text == said || strings.HasSuffix(text, ": "+said) || strings.HasSuffix(text, "; "+said)) && c.LastTransitionTime.After(since) {
			since = c.LastTransitionTime.Time
		}
	}
	return since
}

// latestEvent returns the latest wanted event about an object.
func (s *reasonSearch) latestEvent(u *unstructured.Unstructured, wanted func(*corev1.Event) bool) *corev1.Event {
	return newestEvent(s.eventsAbout(u), wanted)
}

func newestEvent(events []*corev1.Event, wanted func(*corev1.Event) bool) (newest *corev1.Event) {
	for _, e := range events {
		if wanted(e) && (newest == nil || eventTime(e).After(eventTime(newest))) {
			newest = e
		}
	}
	return newest
}

// eventsAbout returns the events about an object.
func (s *reasonSearch) eventsAbout(u *unstructured.Unstructured) (events []*corev1.Event) {
	for _, item := range s.listEvents(u) {
		e := &corev1.Event{}
		if err := convertObject(&item, e); err != nil {
			s.recordError(err)
			continue
		}
		events = append(events, e)
	}
	return events
}

// listEvents lists the events about an object, those alone if only one is explained, as there may be many others.
func (s *reasonSearch) listEvents(u *unstructured.Unstructured) []unstructured.Unstructured {
	resource, namespace := coreResource("events"), eventNamespace(u)
	if !s.single {
		return s.listRelated(resource, namespace, involvedUID)[u.GetUID()]
	}
	selector := fields.OneTermEqualSelector("involvedObject.uid", string(u.GetUID())).String()
	return groupByUID(s.list(resource, namespace, metav1.ListOptions{FieldSelector: selector}), involvedUID)[u.GetUID()]
}

// eventNamespace returns the namespace of the events about an object.
func eventNamespace(u *unstructured.Unstructured) string {
	return cmp.Or(u.GetNamespace(), metav1.NamespaceDefault)
}

func isWarning(e *corev1.Event) bool { return e.Type == corev1.EventTypeWarning }

// involvedUID returns the UID of the object that an event is about.
func involvedUID(event *unstructured.Unstructured) types.UID {
	uid, _, _ := unstructured.NestedString(event.Object, "involvedObject", "uid")
	return types.UID(uid)
}

// eventTime returns when an event last occurred. Old and new recorders use different
// fields.
func eventTime(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

// firstTime returns when an event first occurred.
func firstTime(e *corev1.Event) time.Time {
	for _, at := range []time.Time{e.FirstTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time} {
		if !at.IsZero() {
			return at
		}
	}
	return eventTime(e)
}
