package web

import (
	"reflect"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// TestStatusIsJudged checks what the page does not judge itself: failing keys, and how interventions end.
func TestStatusIsJudged(t *testing.T) {
	const conflict = "Operation cannot be fulfilled: the object has been modified"
	m := newStatusMessage(observe.Snapshot{
		Process: observe.Process{State: observe.Ready},
		Controllers: []observe.Controller{
			{Name: "job-controller", State: observe.StateRunning, Failing: []observe.FailingKey{
				{Error: "no", Times: 2}, {Error: "no", Times: 1}, {Error: conflict, Times: 2}, {Error: conflict, Times: 9},
			}},
			{Name: "kube-apiserver"},
			{Name: "deployment-controller", State: observe.StateRunning, Reason: "1 worker in place of 5", Interventions: observe.Interventions{Workers: 1, ConfiguredWorkers: 5}},
			{Name: "shop/site", State: observe.StateOff, Process: observe.StateOff},
			{Name: "cronjob-controller", State: observe.StateOff, Reason: observe.ReasonStopped},
		},
		Clients: []observe.Client{{Name: "shop", State: observe.StatePaused}},
	})
	if m.State != "busy" || m.Failing != "2 keys fail" {
		t.Errorf("state %q, failing %q", m.State, m.Failing)
	}
	var worrying []bool
	var retries []string
	for _, f := range m.Controllers[0].Failing {
		worrying, retries = append(worrying, f.Worrying), append(retries, f.Retry)
	}
	if want := []bool{true, false, false, true}; !reflect.DeepEqual(worrying, want) {
		t.Errorf("worrying: %v, want %v", worrying, want)
	}
	if want := []string{"", "", "conflict", ""}; !reflect.DeepEqual(retries, want) {
		t.Errorf("retries: %q, want %q", retries, want)
	}
	for i, want := range []string{"stop", "stop", "stop", "remove", "start"} {
		if got := m.Controllers[i].StopVerb; got != want {
			t.Errorf("%s: %q, want %q", m.Controllers[i].Name, got, want)
		}
	}
	want := []intervention{
		{Name: "deployment-controller", Text: "1 worker in place of 5"},
		{Name: "cronjob-controller", Text: "stopped"},
		{Name: "shop", Client: true, Text: "paused"},
	}
	if !reflect.DeepEqual(m.Interventions, want) {
		t.Errorf("interventions %+v, want %+v", m.Interventions, want)
	}
}

// TestListLeavesOutEmptyCollections: a lesson and the namespace controller delete the collections of all kinds, of most of which
// there is nothing. Without reports of the storage that is not known.
func TestListLeavesOutEmptyCollections(t *testing.T) {
	record := func(wrote ...observe.Written) *observe.Record {
		return &observe.Record{Event: &observe.Called{Controller: "ctrlplane (kubernetes-admin)", Client: &observe.Caller{}, Verb: "deletecollection", Status: 200, Wrote: wrote}}
	}
	var l list
	for i, c := range []struct {
		record *observe.Record
		want   bool
	}{{record(), true}, {record(observe.Written{Resource: "pods", Deleted: true}), true}, {record(), false}} {
		if got := l.has(c.record); got != c.want {
			t.Errorf("record %d: listed is %v", i, got)
		}
	}
}
