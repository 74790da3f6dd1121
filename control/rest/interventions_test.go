package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// fakeInterventions notes its calls, and refuses controllers called bad.
type fakeInterventions struct {
	control.Intervener // nil
	calls              []string
}

func (f *fakeInterventions) Change(_ context.Context, names []string, c control.Change) ([]string, error) {
	what := c.Verb
	switch c.Verb {
	case control.Delay:
		what += " by " + c.Delay.String()
	case control.Fail:
		what += " (" + c.Fault.String() + ")"
	case control.Scale:
		what += fmt.Sprintf(" to %d", c.Workers)
	}
	return f.record(names, what)
}

func (f *fakeInterventions) record(names []string, what string) ([]string, error) {
	if slices.Contains(names, "bad") {
		return nil, usage.Errorf("unknown controller %q", "bad")
	}
	f.calls = append(f.calls, fmt.Sprintf("%s %q", what, names))
	return names, nil
}

var testHeldWrite = control.HeldWrite{Verb: "create", Object: observe.Object{Resource: "pods", Name: "web-"}, Since: time.Unix(1, 0).UTC(), Body: json.RawMessage(`{"a":1}`)}

func (f *fakeInterventions) StepWithin(_ context.Context, name string, wait time.Duration) (*control.SteppedWrite, error) {
	if name == "idle" {
		return nil, nil
	}
	_, err := f.record([]string{name}, "step within "+wait.String())
	return &control.SteppedWrite{HeldWrite: testHeldWrite, Status: 201}, err
}

func (f *fakeInterventions) HeldWrites(_ context.Context, name string, limit int) (control.HeldWriteList, error) {
	_, err := f.record([]string{name}, fmt.Sprintf("held %d", limit))
	return control.HeldWriteList{Items: []control.HeldWrite{testHeldWrite}, Total: 7}, err
}

func newInterventionsServer(t *testing.T, f *fakeInterventions) (control.Interventions, string) {
	t.Helper()
	mux := http.NewServeMux()
	handleInterventions(mux, ControllersPath, f)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	client, err := NewClient(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client.Interventions(), srv.URL
}

func TestInterventions(t *testing.T) {
	f := &fakeInterventions{}
	i, _ := newInterventionsServer(t, f)
	ctx := t.Context()
	a := []string{"a"}
	for _, do := range []func(context.Context, []string) ([]string, error){i.Stop, i.Start, i.Pause, i.Resume, i.Clear, i.Remove} {
		names, err := do(ctx, []string{"a,b", "c/d?"})
		if diff := cmp.Diff([]string{"a,b", "c/d?"}, names); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		if _, err := do(ctx, []string{"a", "bad"}); err == nil || !strings.HasSuffix(err.Error(), `unknown controller "bad"`) || !errors.As(err, new(usage.Error)) {
			t.Errorf("got %v", err)
		}
	}
	_, resumed := i.Resume(ctx, []string{control.All})
	_, delayed := i.Delay(ctx, a, 1500*time.Millisecond)
	_, failed := i.Fail(ctx, a, control.Fault{Rate: 0.3, Code: "409", Verb: "update", Resource: "deployments.apps"})
	_, scaled := i.Scale(ctx, a, 3)
	if err := errors.Join(resumed, delayed, failed, scaled); err != nil {
		t.Error(err)
	}
	if _, err := i.Fail(ctx, a, control.Fault{Rate: math.NaN(), Code: "500"}); !errors.As(err, new(usage.Error)) {
		t.Errorf("rate that is not a number: %v", err)
	}
	stepped, err := i.Step(ctx, "a")
	if diff := cmp.Diff(&control.SteppedWrite{HeldWrite: testHeldWrite, Status: 201}, stepped); err != nil || diff != "" {
		t.Errorf("step: %v\n%s", err, diff)
	}
	if stepped, err := i.Step(ctx, "idle"); stepped != nil || err != nil {
		t.Errorf("step without a held write: %v, %v", stepped, err)
	}
	if stepped, err := i.StepHeld(ctx, "a"); stepped == nil || err != nil {
		t.Errorf("step of a held write: %v, %v", stepped, err)
	}
	held, err := i.HeldWrites(ctx, "a", 5)
	if diff := cmp.Diff(control.HeldWriteList{Items: []control.HeldWrite{testHeldWrite}, Total: 7}, held); err != nil || diff != "" {
		t.Errorf("held writes: %v\n%s", err, diff)
	}
	const two = ` ["a,b" "c/d?"]`
	want := []string{"stop" + two, "start" + two, "pause" + two, "resume" + two, "clear" + two, "remove" + two, `resume ["*"]`, `delay by 1.5s ["a"]`,
		`fail (30% of its update deployments.apps calls fail: 409) ["a"]`, `scale to 3 ["a"]`, `step within 20s ["a"]`, `step within 0s ["a"]`, `held 5 ["a"]`}
	if diff := cmp.Diff(want, f.calls); diff != "" {
		t.Errorf("calls: -want +got:\n%s", diff)
	}
}

func TestInterventionsRefuseInvalidRequests(t *testing.T) {
	_, url := newInterventionsServer(t, &fakeInterventions{})
	for request, want := range map[string]int{
		`POST /delay {"names":["a"]}`:               http.StatusBadRequest,
		`POST /delay {"names":["a"],"delay":"2"}`:   http.StatusBadRequest,
		`POST /delay {"names":["a"],"delay":"2s"}`:  http.StatusOK,
		`POST /fail {"names":["a"]}`:                http.StatusBadRequest,
		`POST /fail {"fault":{"rate":"much"}}`:      http.StatusBadRequest,
		`POST /scale {"names":["a"],"workers":"x"}`: http.StatusBadRequest,
		`POST /scale {"names":["a"],"workers":2}`:   http.StatusOK,
		`POST /step {"names":["a","b"]}`:            http.StatusBadRequest,
		`POST /step {}`:                             http.StatusBadRequest,
		`POST /pause {}`:                            http.StatusBadRequest,
		`POST /step?held=x {"names":["a"]}`:         http.StatusBadRequest,
		`POST /step?held {"names":["a"]}`:           http.StatusBadRequest,
		`POST /step?hold=true {"names":["a"]}`:      http.StatusBadRequest,
		`POST /step {"names":["a"],"workers":2}`:    http.StatusBadRequest,
		`POST /pause?names=a {"names":["a"]}`:       http.StatusBadRequest,
		`POST /pause {"names":["a"]}{"names":[]}`:   http.StatusBadRequest,
		`POST /pause {"names":["a"]}}`:              http.StatusBadRequest,
		`POST /pause {"names":["a"],"delay":"2s"}`:  http.StatusBadRequest,
		`POST /pause {"names":["a"]} `:              http.StatusOK,
		`POST /pause {"name":"a"}`:                  http.StatusBadRequest,
		`POST /pause `:                              http.StatusBadRequest,
		`GET /held?name=a&limit=-1 `:                http.StatusBadRequest,
		`GET /held?name=a `:                         http.StatusOK,
		`GET /held?name=a&timeout=5s `:              http.StatusOK,
		`GET /held?names=a `:                        http.StatusBadRequest,
		`GET /held?name=a&limit= `:                  http.StatusBadRequest,
		`POST /held `:                               http.StatusMethodNotAllowed,
		`GET /pause `:                               http.StatusMethodNotAllowed,
		`POST /polish `:                             http.StatusNotFound,
	} {
		method, rest, _ := strings.Cut(request, " ")
		path, body, _ := strings.Cut(rest, " ")
		req, err := http.NewRequestWithContext(t.Context(), method, url+ControllersPath+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if resp.StatusCode != want {
			t.Errorf("%s: got %d, want %d", request, resp.StatusCode, want)
		}
	}
}
