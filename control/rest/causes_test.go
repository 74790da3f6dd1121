package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// newReadyObserver returns an observer of a control plane that is ready, with a Deployment that a client has created.
func newReadyObserver(t *testing.T) *observe.Observer {
	t.Helper()
	o := observe.New(observe.Options{Process: func() observe.Process { return observe.Process{State: observe.Ready} }})
	t.Cleanup(func() { o.Close() })
	web := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web", UID: "1"}
	o.Append(&observe.Called{
		Controller: "suite (admin)", Client: &observe.Caller{}, Verb: "create", Object: web, Status: 201, ResourceVersion: "7", Began: time.Now(),
		Wrote: []observe.Written{{Resource: "deployments.apps", Namespace: "default", Name: "web", ResourceVersion: "7"}},
	})
	return o
}

func TestTraceAndWhy(t *testing.T) {
	h := Handler(Services{Source: newReadyObserver(t), Nodes: fakeNodes{}})
	const web = "?group=apps&resource=deployments&namespace=default&name=web"
	for target, want := range map[string]string{
		TracePath + web:                 `"roots":[{`,
		WhyPath + web:                   `"what":"created"`,
		WhyPath + web + "&what=created": `"what":"created"`,
	} {
		if w := request(h, "GET "+target, ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: got %d %s, want %s", target, w.Code, w.Body, want)
		}
	}
	for target, want := range map[string]struct {
		code int
		says string
	}{
		TracePath + web + "2":                        {http.StatusNotFound, "no such object in the recorded history"},
		WhyPath + web + "2":                          {http.StatusNotFound, "no such object in the recorded history"},
		WhyPath + web + "&what=deleted":              {http.StatusNotFound, "delet"},
		WhyPath + web + "&what=gone":                 {http.StatusBadRequest, `parameter what: "gone" is not a change of an object: use one of ["created" "changed" "deleted" "refused" "failed"]`},
		TracePath + "?name=web":                      {http.StatusBadRequest, "an object needs a resource and a name"},
		TracePath + "?resource=deployments&name=web": {http.StatusBadRequest, "use group=apps"},
		TracePath + web + "&what=created":            {http.StatusBadRequest, "parameter what: unknown parameter"},
	} {
		if s := requireStatus(t, request(h, "GET "+target, ""), want.code); !strings.Contains(s.Message, want.says) {
			t.Errorf("%s: got %q, want %q", target, s.Message, want.says)
		}
	}
}

func TestSettled(t *testing.T) {
	o := newReadyObserver(t)
	h := Handler(Services{Source: o, Nodes: fakeNodes{}})
	if w := request(h, "GET "+SettledPath+"?timeout=20s", ""); w.Code != http.StatusOK || w.Body.String() != `{"settled":true,"remaining":[]}`+"\n" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	busy := Handler(Services{Source: busySource{}, Nodes: fakeNodes{}})
	w := request(busy, "GET "+SettledPath+"?timeout=50ms&horizon=0s", "")
	var answer settledAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK || answer.Settled || len(answer.Remaining) != 1 {
		t.Fatalf("got %d %s, %v", w.Code, w.Body, err)
	}
	if got := answer.Remaining[0]; got.Where != "job-controller" || got.Waits != "paused" || !slices.Equal(got.What, []string{"1 write held: the controller is paused"}) {
		t.Errorf("remaining: %+v", got)
	}
	for _, params := range []string{"?timeout=11m", "?timeout=5", "?timeout=-1s", "?horizon=x"} {
		requireStatus(t, request(h, "GET "+SettledPath+params, ""), http.StatusBadRequest)
	}
}

// busySource has a paused controller, one with other workers, and a slow speed.
type busySource struct{ observe.Source }

func (busySource) Snapshot(context.Context) (observe.Snapshot, error) {
	return observe.Snapshot{
		Process: observe.Process{State: observe.Ready, Quiet: true, Speed: "1/5"},
		Controllers: []observe.Controller{
			{Name: "job-controller", State: observe.StatePaused, Held: 1, Writing: 1},
			{Name: "replicaset-controller", State: observe.StateRunning, Interventions: observe.Interventions{Workers: 2, ConfiguredWorkers: 5}},
		},
	}, nil
}

func TestEndInterventions(t *testing.T) {
	controllers, clients, speed := &fakeInterventions{}, &fakeInterventions{}, &fakeSpeed{}
	both := Services{Source: busySource{}, Nodes: fakeNodes{}, Interventions: controllers, Clients: clients, Speed: speed, Controllers: func() []control.Controller { return nil }}
	for _, h := range []http.Handler{Handler(both), InterventionsHandler(Services{Source: busySource{}, Interventions: controllers, Clients: clients, Speed: speed})} {
		controllers.calls, clients.calls, speed.speed = nil, nil, ""
		w := request(h, "DELETE "+InterventionsPath, "")
		if got := w.Body.String(); w.Code != http.StatusOK || got != `{"controllers":["*","replicaset-controller"],"clients":["*"]}`+"\n" {
			t.Errorf("got %d %s", w.Code, got)
		}
		if diff := cmp.Diff([]string{`start ["*"]`, `clear ["*"]`, `resume ["*"]`, `scale to 5 ["replicaset-controller"]`}, controllers.calls); diff != "" {
			t.Errorf("controllers: -want +got:\n%s", diff)
		}
		if diff := cmp.Diff([]string{`clear ["*"]`, `resume ["*"]`}, clients.calls); diff != "" {
			t.Errorf("clients: -want +got:\n%s", diff)
		}
		if speed.speed != observe.SpeedFull {
			t.Errorf("speed %q", speed.speed)
		}
	}
	if err := newTestClient(t, both).EndInterventions(t.Context()); err != nil {
		t.Error(err)
	}
	if w := request(InterventionsHandler(Services{Speed: speed}), "DELETE "+InterventionsPath, ""); w.Code != http.StatusNotFound {
		t.Errorf("without interventions: got %d %s", w.Code, w.Body)
	}
}

// stoppedSource has what busySource has, and the number of workers of a stopped controller as soon as it was started.
type stoppedSource struct {
	busySource
	controllers *fakeInterventions
}

func (s stoppedSource) Snapshot(ctx context.Context) (observe.Snapshot, error) {
	now, err := s.busySource.Snapshot(ctx)
	if len(s.controllers.calls) == 0 {
		now.Controllers[1].State, now.Controllers[1].Interventions = observe.StateOff, observe.Interventions{}
	}
	return now, err
}

// One request ends what a controller had before it was stopped, also where only snapshots tell it.
func TestEndInterventionsInStoppedControllers(t *testing.T) {
	controllers := &fakeInterventions{}
	h := InterventionsHandler(Services{Source: stoppedSource{controllers: controllers}, Interventions: controllers})
	request(h, "DELETE "+InterventionsPath, "")
	if !slices.Contains(controllers.calls, `scale to 5 ["replicaset-controller"]`) {
		t.Errorf("calls: %q", controllers.calls)
	}
}

// What fails does not keep the rest from its end.
func TestEndInterventionsGoesOn(t *testing.T) {
	clients, speed := &fakeInterventions{}, &fakeSpeed{}
	h := InterventionsHandler(Services{Source: busySource{}, Interventions: failingInterventions{}, Clients: clients, Speed: speed})
	requireStatus(t, request(h, "DELETE "+InterventionsPath, ""), http.StatusInternalServerError)
	if len(clients.calls) != 2 || speed.speed != observe.SpeedFull {
		t.Errorf("calls of clients %q, speed %q", clients.calls, speed.speed)
	}
}

type failingInterventions struct{ control.Intervener }

func (failingInterventions) Change(_ context.Context, _ []string, c control.Change) ([]string, error) {
	return nil, fmt.Errorf("%s: another process is the leader", c.Verb)
}
