package health

import (
	"context"
	"errors"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// fakeState is the state of a control plane.
type fakeState struct {
	observe.Source
	now   observe.Snapshot
	err   error
	asked int
}

func (f *fakeState) Snapshot(context.Context) (observe.Snapshot, error) {
	f.asked++
	return f.now, f.err
}

// Of a controller that does not run no reason says what it is going to do.
func TestReasonsWithoutControllers(t *testing.T) {
	controller := func(name, state, reason string) observe.Controller {
		return observe.Controller{Name: name, State: state, Reason: reason}
	}
	off := observe.Snapshot{Controllers: []observe.Controller{
		controller(controllernames.GarbageCollector, observe.StateOff, "stopped"), controller(controllernames.PodGarbageCollector, observe.StateOff, "not in --controllers"),
		controller(controllernames.EndpointSliceMirror, observe.StateFailed, ""), controller(controllernames.Namespace, observe.StateOff, "not in --controllers"),
	}}
	standby := off
	standby.Process.Leader = observe.LeaderOther
	running := observe.Snapshot{Controllers: []observe.Controller{controller(controllernames.PodGarbageCollector, observe.StateRunning, "")}}
	const (
		pod       = `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: o}, spec: {nodeName: ghost}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`
		orphan    = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: o, ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: w, uid: w}]}}`
		service   = `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: o}, spec: {clusterIP: 10.0.0.1}}`
		endpoints = `{apiVersion: v1, kind: Endpoints, metadata: {namespace: shop, name: o}, subsets: [{addresses: [{ip: 10.1.0.1}]}]}`
		namespace = `{apiVersion: v1, kind: Namespace, metadata: {name: o, deletionTimestamp: "2026-01-02T03:04:05Z"}, spec: {finalizers: [kubernetes]}, status: {phase: Terminating}}`

		deletesPod  = "Its node ghost does not exist: pod-garbage-collector-controller is going to delete the Pod."
		cannotRetry = "Its owner Widget w cannot be looked up: unknown kind Widget in example.com/v1: correct the name or install its CustomResourceDefinition; "
	)
	for name, tc := range map[string]struct {
		state  *fakeState
		object string
		want   string
	}{
		"Pod":                    {&fakeState{now: off}, pod, "Its node ghost does not exist, and pod-garbage-collector-controller, which would delete the Pod, does not run: not in --controllers."},
		"Pod, running":           {&fakeState{now: running}, pod, deletesPod},
		"Pod, standby":           {&fakeState{now: standby}, pod, deletesPod},
		"Pod, not known":         {&fakeState{err: errors.New("no answer")}, pod, deletesPod},
		"owner":                  {&fakeState{now: off}, orphan, cannotRetry + "garbage-collector-controller, which would look for it, does not run: stopped."},
		"owner, running":         {&fakeState{now: running}, orphan, cannotRetry + "until then garbage-collector-controller retries, and does not delete this object unless it saw the deletion of that owner."},
		"Endpoints":              {&fakeState{now: off}, service, "It has no endpoint: endpointslice-mirroring-controller, which would copy its Endpoints to an EndpointSlice, does not run: failed."},
		"Endpoints, running":     {&fakeState{now: running}, service, ""},
		"Namespace":              {&fakeState{now: off}, namespace, "It is being deleted; namespace-controller, which would delete its content, does not run: not in --controllers."},
		"Namespace, not stopped": {&fakeState{now: running}, namespace, "It is being deleted; the namespace controller has not reported the remaining content yet."},
	} {
		t.Run(name, func(t *testing.T) {
			c, u := newCluster(t, tc.object, endpoints), parseObject(t, tc.object)
			s, err := c.WithRecords(tc.state).Examine(t.Context(), u.GetKind(), u.GetNamespace(), "o")
			if err != nil || s.Problem() != tc.want || tc.state.asked > 1 {
				t.Errorf("got %s, %v, asked %d times\nwant %s", s.Problem(), err, tc.state.asked, tc.want)
			}
		})
	}
}
