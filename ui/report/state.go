package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

const (
	maxReasons = 200  // unhealthy objects to diagnose
	maxEvents  = 1000 // newest Events to list
)

// State is the state of the control plane at the end of the run.
type State struct {
	snapshot      observe.Snapshot
	objects       []unstructured.Unstructured
	unhealthy     []unhealthyObject
	events        []apiEvent // oldest first
	droppedEvents int
	cases         []testCase // one per object
	// statuses are the kinds, as RESOURCE.GROUP, of the statusless cases that have a status.
	statuses   map[schema.GroupVersionKind]string
	incomplete error // says what could not be read
	deleted    Deleted
	unjudged   bool // no object is judged
}

// unhealthyObject is an object that is not healthy, with the reason. Below has the
// unhealthy objects that it controls, directly or not; they have no entry of their own.
type unhealthyObject struct {
	health.State
	Reason string
	Below  []unhealthyObject
	Chain  []string // what led to the last change of the object, one line each
	Logs   []containerLog
	Judged bool // it has a test case

	uid types.UID
}

// apiEvent is an Event object.
type apiEvent struct {
	At                            time.Time
	Warning                       bool
	Reason, Object, Message, From string
	Count                         int32
}

// ReadState reads all objects of an API server. applied are the objects that the control
// plane started with; the records of src, which may be nil, say what has deleted some of them.
// The state says what could not be read.
func ReadState(ctx context.Context, cfg *rest.Config, applied []manifests.Object, src observe.Source) *State {
	s := &State{}
	if err := s.read(ctx, cfg, applied, src); err != nil {
		s.addIncomplete(err)
	}
	return s
}

func (s *State) addIncomplete(err error) {
	s.incomplete = errors.Join(s.incomplete, fmt.Errorf("the objects at the end are incomplete: %w", err))
}

func (s *State) read(ctx context.Context, cfg *rest.Config, applied []manifests.Object, src observe.Source) error {
	r, err := newObjectLister(cfg)
	if err != nil {
		return err
	}
	waiter, err := health.New(cfg)
	if err != nil {
		return err
	}
	if src != nil {
		waiter = waiter.WithRecords(src)
	}
	readLog, err := newLogReader(cfg)
	if err != nil {
		return err
	}
	s.objects, err = r.listAll(ctx)
	if ctx.Err() != nil { // replaces one error per resource
		err = context.Cause(ctx)
	}
	s.collectEvents()
	reasons := s.findUnhealthy(waiter.WhyOf(ctx))
	logs := s.readLogs(ctx, readLog, maxLogs)
	for i := range s.unhealthy {
		s.unhealthy[i].Logs = logs[s.unhealthy[i].uid]
	}
	gone := func(r health.Ref) testCase {
		return testCase{suite: manifestSuite, name: r.String(), skipped: "not all objects could be read"}
	}
	if err == nil && len(applied) > 0 {
		var v *vanished
		v, err = readVanished(ctx, src)
		gone = v.testCase
	}
	var judged map[types.UID]bool
	s.cases, judged = objectCases(s.objects, applied, gone, reasons, logs, waiter.DoubtOf(ctx))
	for i := range s.unhealthy {
		s.unhealthy[i].Judged = judged[s.unhealthy[i].uid]
	}
	return errors.Join(err, s.readStatuses(ctx, waiter))
}

// readStatuses finds out which kinds of the cases without a status have one.
func (s *State) readStatuses(ctx context.Context, waiter *health.Waiter) error {
	s.statuses = map[schema.GroupVersionKind]string{}
	for _, c := range s.cases {
		_, known := s.statuses[c.statusless]
		if known || c.statusless.Empty() {
			continue
		}
		var err error
		if s.statuses[c.statusless], err = waiter.StatusResource(ctx, c.statusless); err != nil {
			return err
		}
	}
	return nil
}

// Doubts says what makes it doubtful that objects are healthy which count as healthy: conditions that kstatus does not
// know, what they need and do not have, and that no client has written their status, if none has watched their kind: this
// may be why others are not healthy. One line for each object or kind.
func (s *State) Doubts(now observe.Snapshot) (lines []string) {
	unwatched, failed := map[string][]string{}, map[string][]string{} // names, by kind
	for _, c := range s.cases {
		resource := s.statuses[c.statusless]
		if c.doubt != "" {
			lines = append(lines, fmt.Sprintf("%s counts as healthy, but %s", c.name, c.doubt))
			if note := ui.NeverWatchedNote(now, resource); resource != "" && note != "" { // its conditions are defaults of its schema
				lines[len(lines)-1] += "; no client has written its status, and " + note
			}
			continue
		}
		if resource != "" && c.failure != "" {
			failed[resource] = append(failed[resource], c.name)
		} else if resource != "" {
			unwatched[resource] = append(unwatched[resource], c.name)
		}
	}
	lines = append(lines, statuslessLines(now, failed, "has", "have")...)
	return append(lines, statuslessLines(now, unwatched, "counts as healthy, but it has", "count as healthy, but have")...)
}

// statuslessLines says of objects without a status, whose names are given by kind, that no client has watched their kind.
func statuslessLines(now observe.Snapshot, names map[string][]string, has, have string) (lines []string) {
	for _, resource := range slices.Sorted(maps.Keys(names)) {
		of, note := names[resource], ui.NeverWatchedNote(now, resource)
		switch {
		case note == "":
		case len(of) == 1:
			lines = append(lines, fmt.Sprintf("%s %s no status yet, and %s", of[0], has, note))
		default:
			lines = append(lines, fmt.Sprintf("%s and %d more %s no status yet, and %s", of[0], len(of)-1, have, note))
		}
	}
	return lines
}

// SkipUnhealthy notes that objects need not be healthy: none is judged for that. unapplied says that those of manifests which do
// not exist were not applied.
func (s *State) SkipUnhealthy(unapplied bool) {
	s.unjudged = true
	for i := range s.cases {
		c := &s.cases[i]
		switch {
		case c.gone != (health.Ref{}) && unapplied:
			c.skipped = "not applied"
		case c.failure != "":
			c.skipped = "not judged: " + c.failure
		}
		c.failure, c.details, c.logs = "", "", nil
	}
	for i := range s.unhealthy {
		s.unhealthy[i].Judged = false
	}
}

// Incomplete says what could not be read; nil if everything was.
func (s *State) Incomplete() error { return s.incomplete }

// NotHealthy is an object whose test case in junit.xml fails, with the reason.
type NotHealthy struct {
	Object, Reason string
	logs           []containerLog
}

// Line returns one line with the reason.
func (n *NotHealthy) Line() string { return words.OneLine(n.Object + ": " + n.Reason) }

// LogLines returns the ends of its containers' logs. where says where lines are that are left out.
func (n *NotHealthy) LogLines(where string) []string { return logText(n.logs, where) }

// NotHealthy returns the objects that are not healthy, and how many objects are judged.
func (s *State) NotHealthy() (bad []NotHealthy, of int) {
	for _, c := range s.cases {
		if c.skipped != "" {
			continue
		}
		of++
		if c.failure != "" {
			bad = append(bad, NotHealthy{c.name, c.failure, c.logs})
		}
	}
	return bad, of
}

// findUnhealthy finds the unhealthy objects and returns the reasons by UID.
func (s *State) findUnhealthy(why func(*unstructured.Unstructured) string) map[types.UID]string {
	reasons := map[types.UID]string{}
	var bad []*unstructured.Unstructured
	for i := range s.objects {
		if u := &s.objects[i]; !isEvent(u) && health.StateOf(u).Status != health.Current {
			bad = append(bad, u)
			reasons[u.GetUID()] = ""
		}
	}
	owners := map[types.UID]types.UID{} // of unhealthy objects that an unhealthy one controls
	for _, u := range bad {
		if owner := metav1.GetControllerOf(u); owner != nil {
			if _, ok := reasons[owner.UID]; ok {
				owners[u.GetUID()] = owner.UID
			}
		}
	}
	below := map[types.UID][]unhealthyObject{}
	var top []*unstructured.Unstructured
	for i, u := range bad {
		state := health.StateOf(u)
		reason := state.Message
		if i < maxReasons {
			reason = why(u)
		}
		reasons[u.GetUID()] = reason
		root := topOwner(owners, u.GetUID())
		if root == u.GetUID() {
			top = append(top, u)
			continue
		}
		below[root] = append(below[root], unhealthyObject{State: state, Reason: reason})
	}
	for _, u := range top {
		s.unhealthy = append(s.unhealthy, unhealthyObject{State: health.StateOf(u), Reason: reasons[u.GetUID()], Below: below[u.GetUID()], uid: u.GetUID()})
	}
	return reasons
}

// topOwner follows owners to the object that none of them controls.
func topOwner(owners map[types.UID]types.UID, uid types.UID) types.UID {
	at := uid
	for range len(owners) + 1 { // objects may claim to own each other
		owner, ok := owners[at]
		if !ok {
			return at
		}
		at = owner
	}
	return uid
}

// isEvent reports whether an object is an Event of Kubernetes: another group may have a kind of that name.
func isEvent(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Event"}
}

// collectEvents collects the newest Events from the objects.
func (s *State) collectEvents() {
	for i := range s.objects {
		if u := &s.objects[i]; isEvent(u) {
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
