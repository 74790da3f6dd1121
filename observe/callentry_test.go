package observe

import (
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

// fullCall returns a call in which each field is set.
func fullCall(t *testing.T, now time.Time) Called {
	t.Helper()
	c := Called{
		Controller: "c", Verb: "update", Object: Object{"apps", "deployments", "Deployment", "default", "web", "u1"}, Subresource: "status", Version: "v1",
		Status: 409, Began: now.Add(-time.Second), Took: time.Millisecond, Held: time.Second, ResourceVersion: "7", Selected: true, Aggregated: true, Conflict: true, Canceled: true, DryRun: true, Applied: true, ToCreate: true,
		Error: "failed", Wrote: []Written{{"pods", "default", "web-1", "8", true, &ForcedFields{Managers: []string{"flux"}}}}, Sync: 1, AfterSync: 2, Client: &Caller{User: "admin"}, FieldManager: "kubectl",
		Cause: 3, Event: &KubernetesEvent{Type: "Warning"}, BoundTo: "n1", TakenBy: "n2", Unexplained: &Received{Change: Added}, Owner: &Object{Name: "o"}, UnknownSync: "s/site/4", ReadVersion: "6",
		Webhooks: []Webhook{{Name: "w.example.com", Outcome: WebhookIgnored}}, Warnings: []string{"unknown field"},
	}
	for v, i := reflect.ValueOf(c), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Fatalf("%s is not set", v.Type().Field(i).Name)
		}
	}
	return c
}

// What a reader receives of a call is what was recorded, whichever fields are set.
func TestCallEntriesAreComplete(t *testing.T) {
	o := newTestObserver(t, Options{})
	now := time.Now()
	full := fullCall(t, now)
	calls := []Called{{}, full}
	for i := range reflect.TypeFor[Called]().NumField() {
		with, without := Called{}, full
		reflect.ValueOf(&with).Elem().Field(i).Set(reflect.ValueOf(full).Field(i))
		reflect.ValueOf(&without).Elem().Field(i).SetZero()
		calls = append(calls, with, without)
	}
	itself, core, other := full, full, full
	itself.Wrote = []Written{{"deployments.apps", "default", "web", "7", false, nil}}
	core.Object, core.Wrote = Object{Resource: "pods", Name: "p"}, []Written{{"pods", "", "p", "7", false, nil}}
	other.Began = full.Began.In(time.FixedZone("there", 3600)).Round(0) // as another process reports it
	event, lease := full, full
	event.Object, lease.Object = Object{Group: "events.k8s.io", Resource: "events"}, Object{Group: "coordination.k8s.io", Resource: "leases"}
	two := itself
	two.Wrote = append(two.Wrote, full.Wrote...)
	for _, c := range append(calls, itself, core, other, two, event, lease) {
		r := o.newCallRecord(&c, now)
		got := r.forReader().Event.(*Called)
		if diff := cmp.Diff(&c, got); diff != "" || got.Began.String() != c.Began.String() {
			t.Errorf("-recorded +read:\n%s%s, %s", diff, c.Began, got.Began)
		}
		if isNotable(r.Event) != isNotable(&c) || isBackground(r.Event) != isBackground(&c) {
			t.Errorf("the journal takes it for another: %+v", c)
		}
		if got := r.entry.kind.hasHistory(); got != (c.IsWrite() && !c.IsRoutine()) {
			t.Errorf("the history follows it: %v, %+v", got, c)
		}
	}
}

// When a call was sent is read back as it was recorded, also if the wall clock jumped while it ran: by a suspend of
// the machine, during which the monotonic clock stands still, or because it was set.
func TestCallsThatTheClockJumpedIn(t *testing.T) {
	o := newTestObserver(t, Options{})
	now := time.Now()
	for _, jump := range []time.Duration{-time.Hour, 0, time.Hour} {
		began := shiftWall(t, now.Add(-time.Second), jump)
		got := o.newCallRecord(&Called{Began: began}, now).forReader().Event.(*Called).Began
		if apart := got.Round(0).Sub(began.Round(0)).Abs(); apart >= time.Millisecond {
			t.Errorf("%s is read as %s", began, got)
		}
	}
}

// shiftWall returns a time with the same monotonic reading and another one of the wall clock, by whole seconds.
func shiftWall(t *testing.T, at time.Time, by time.Duration) time.Time {
	t.Helper()
	shifted := at
	*(*uint64)(unsafe.Pointer(&shifted)) += uint64(by/time.Second) << 30 // see the comment in time.Time
	if apart := shifted.Round(0).Sub(at.Round(0)); apart != by || shifted.Sub(at) != 0 {
		t.Fatalf("the wall clock of %s is %s from that of %s", shifted, apart, at)
	}
	return shifted
}

// The custom resources that exist are not bounded.
func TestKindsOfCallsAreBounded(t *testing.T) {
	o := newTestObserver(t, Options{})
	for i := range 2 * maxCallKinds {
		c := Called{Controller: time.Duration(i).String()}
		if got := o.newCallRecord(&c, time.Now()).forReader().Event.(*Called).Controller; got != c.Controller {
			t.Fatalf("%s is recorded as %s", c.Controller, got)
		}
	}
	if n := len(o.callKinds.entries()); n != maxCallKinds {
		t.Errorf("%d kinds are kept", n)
	}
}
