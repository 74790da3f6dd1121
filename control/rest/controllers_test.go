package rest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

func TestControllers(t *testing.T) {
	want := []control.Controller{
		{Name: "garbage-collector-controller", Aliases: []string{"garbagecollector"}, State: "paused", Reason: "its writes are held",
			Workers: map[string]int{"delete": 20, "orphan": 20}, Held: 7,
			Work: control.Work{Depth: 5, InFlight: 3, Retries: 4, ErrorRetries: 1, Syncs: 9, Failures: 2, Writes: 6, Errors: 1, Conflicts: 8}},
		{Name: "job-controller", State: "off", Reason: "turned off by --controllers"},
		{Name: "kube-scheduler", State: "running", Work: control.Work{Depth: 1}},
		{Name: "not recorded", State: "paused", Held: 7},
		{Name: "bad", State: "paused"}, // of a process that has ended meanwhile
	}
	var bare []control.Controller
	for _, c := range want {
		bare = append(bare, control.Controller{Name: c.Name, Aliases: c.Aliases, State: c.State, Reason: c.Reason})
	}
	srv := httptest.NewServer(Handler(Services{Controllers: func() []control.Controller { return bare }, Source: fakeSource{}, Interventions: &fakeInterventions{}, Nodes: fakeNodes{}}))
	defer srv.Close()
	client, err := NewClient(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.Controllers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// fakeSource is a source in which the garbage collector and the scheduler have work.
type fakeSource struct{ observe.Source }

func (fakeSource) Snapshot(context.Context) (observe.Snapshot, error) {
	gc := observe.Queue{Controller: "garbage-collector-controller", Name: "delete", Depth: 2, InFlight: 1, Retries: 4, ErrorRetries: 1, Workers: 20}
	orphan := gc
	orphan.Name, orphan.Depth, orphan.InFlight, orphan.Retries, orphan.ErrorRetries = "orphan", 3, 2, 0, 0
	return observe.Snapshot{
		Controllers: []observe.Controller{{Name: gc.Controller, Syncs: 9, Failures: 2, Changes: 6, Errors: 1, Conflicts: 8, Held: 7}},
		Queues: []observe.Queue{gc, orphan, {Name: "unowned", Depth: 1},
			{Controller: "kube-scheduler", Name: "active", Depth: 1}, {Controller: "kube-scheduler", Name: "gated", Depth: 50, Parked: true}},
	}, nil
}

func TestClientReturnsServerErrors(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"forbidden": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
		"not JSON": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(handler)
			defer srv.Close()
			client, err := NewClient(&rest.Config{Host: srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := client.Controllers(t.Context()); err == nil {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestHandlerRefusesUnknownPaths(t *testing.T) {
	h := Handler(Services{Controllers: func() []control.Controller { return nil }, Source: fakeSource{}, Nodes: fakeNodes{}})
	for target, want := range map[string]int{
		"GET " + ControllersPath:  http.StatusOK,
		"POST " + ControllersPath: http.StatusMethodNotAllowed,
		"GET " + Path + "/v1/x":   http.StatusNotFound,
	} {
		method, path, _ := strings.Cut(target, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != want {
			t.Errorf("%s: got %d, want %d", target, w.Code, want)
		}
	}
}
