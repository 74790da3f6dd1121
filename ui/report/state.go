package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	maxReasons = 200  // objects that are asked why they are not healthy
	maxEvents  = 1000 // the newest
)

// finalState is what there was at the end.
type finalState struct {
	snapshot      observe.Snapshot
	objects       []unstructured.Unstructured
	unhealthy     []unhealthyObject
	events        []apiEvent // the oldest first
	droppedEvents int
	cases         []testCase // of objects
	incomplete    error      // what could not be read
}

// unhealthyObject is an object that is not healthy and why. Objects that it controls
// and that are not healthy either are only counted.
type unhealthyObject struct {
	health.State
	Reason string
	Below  int
}

// apiEvent is an Event of the API.
type apiEvent struct {
	At                            time.Time
	Warning                       bool
	Reason, Object, Message, From string
	Count                         int32
}

// readFinalState looks at all that an API server has. It may return a state and an error:
// then it is not complete.
func readFinalState(ctx context.Context, cfg *rest.Config, applied []manifests.Object) (*finalState, error) {
	r, err := newObjectLister(cfg)
	if err != nil {
		return &finalState{}, err
	}
	waiter, err := health.New(cfg)
	if err != nil {
		return &finalState{}, err
	}
	s := &finalState{}
	s.objects, err = r.listAll(ctx)
	if ctx.Err() != nil { // and so for each of what has not been listed
		err = context.Cause(ctx)
	}
	s.collectEvents()
	reasons := s.findUnhealthy(func(u *unstructured.Unstructured) string { return waiter.Why(ctx, u) })
	s.cases = objectCases(s.objects, applied, reasons)
	return s, err
}

// findUnhealthy finds what is not healthy and, by UID, why.
func (s *finalState) findUnhealthy(why func(*unstructured.Unstructured) string) map[types.UID]string {
	reasons := map[types.UID]string{}
	below := map[types.UID]int{}
	var bad []*unstructured.Unstructured
	for i := range s.objects {
		if u := &s.objects[i]; u.GetKind() != "Event" && health.StateOf(u).Status != health.Current {
			bad = append(bad, u)
			reasons[u.GetUID()] = ""
		}
	}
	for _, u := range bad {
		if owner := metav1.GetControllerOf(u); owner != nil {
			if _, ok := reasons[owner.UID]; ok {
				below[owner.UID]++
			}
		}
	}
	for i, u := range bad {
		state := health.StateOf(u)
		reason := state.Message
		if i < maxReasons {
			reason = why(u)
		}
		reasons[u.GetUID()] = reason
		if owner := metav1.GetControllerOf(u); owner != nil && below[owner.UID] > 0 {
			continue
		}
		s.unhealthy = append(s.unhealthy, unhealthyObject{state, reason, below[u.GetUID()]})
	}
	return reasons
}

// collectEvents takes the newest Events from among the objects.
func (s *finalState) collectEvents() {
	for i := range s.objects {
		if u := &s.objects[i]; u.GetKind() == "Event" {
			var e corev1.Event
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &e); err == nil {
				s.events = append(s.events, newEvent(&e))
			} else {
				s.droppedEvents++
			}
		}
	}
	slices.SortStableFunc(s.events, func(a, b apiEvent) int { return a.At.Compare(b.At) })
	if over := len(s.events) - maxEvents; over > 0 {
		s.events = s.events[over:]
		s.droppedEvents += over
	}
}

func newEvent(e *corev1.Event) apiEvent {
	o := e.InvolvedObject
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + o.Name
	}
	found := apiEvent{
		At: e.CreationTimestamp.Time, Warning: e.Type == corev1.EventTypeWarning, Reason: e.Reason, Message: e.Message,
		Object: fmt.Sprintf("%s %s", o.Kind, name), From: cmp.Or(e.ReportingController, e.Source.Component), Count: max(e.Count, 1),
	}
	switch { // old and new recorders tell it in different fields
	case e.Series != nil:
		found.At, found.Count = e.Series.LastObservedTime.Time, e.Series.Count
	case !e.LastTimestamp.IsZero():
		found.At = e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		found.At = e.EventTime.Time
	}
	return found
}
