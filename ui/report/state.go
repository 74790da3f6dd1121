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
	maxReasons = 200  // unhealthy objects to diagnose
	maxEvents  = 1000 // newest Events to list
)

// finalState is the state of the control plane at the end of the run.
type finalState struct {
	snapshot      observe.Snapshot
	objects       []unstructured.Unstructured
	unhealthy     []unhealthyObject
	events        []apiEvent // oldest first
	droppedEvents int
	cases         []testCase // one per object
	incomplete    error      // says what could not be read
}

// unhealthyObject is an object that is not healthy, with the reason. Below counts
// the unhealthy objects that it controls; they have no entry of their own.
type unhealthyObject struct {
	health.State
	Reason string
	Below  int
}

// apiEvent is an Event object.
type apiEvent struct {
	At                            time.Time
	Warning                       bool
	Reason, Object, Message, From string
	Count                         int32
}

// readFinalState reads all objects of an API server. If it returns an error, the
// state is valid but incomplete.
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
	if ctx.Err() != nil { // replaces one error per resource
		err = context.Cause(ctx)
	}
	s.collectEvents()
	reasons := s.findUnhealthy(func(u *unstructured.Unstructured) string { return waiter.Why(ctx, u) })
	s.cases = objectCases(s.objects, applied, reasons)
	return s, err
}

// findUnhealthy finds the unhealthy objects and returns the reasons by UID.
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

// collectEvents collects the newest Events from the objects.
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
	switch { // old and new event recorders use different fields
	case e.Series != nil:
		found.At, found.Count = e.Series.LastObservedTime.Time, e.Series.Count
	case !e.LastTimestamp.IsZero():
		found.At = e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		found.At = e.EventTime.Time
	}
	return found
}
