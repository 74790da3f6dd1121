package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// fakeInterventions notes what it is asked; a controller called bad is refused.
type fakeInterventions struct{ asked []string }

func (f *fakeInterventions) record(names, what string) ([]string, error) {
	if strings.Contains(names, "bad") {
		return nil, usage.Errorf("unknown controller %q", names)
	}
	f.asked = append(f.asked, what+" "+names)
	return strings.Split(names, ","), nil
}

func (f *fakeInterventions) Stop(_ context.Context, n string) ([]string, error) {
	return f.record(n, "stop")
}
func (f *fakeInterventions) Start(_ context.Context, n string) ([]string, error) {
	return f.record(n, "start")
}
func (f *fakeInterventions) Pause(_ context.Context, n string) ([]string, error) {
	return f.record(n, "pause")
}
func (f *fakeInterventions) Resume(_ context.Context, n string) ([]string, error) {
	return f.record(n, "resume")
}
func (f *fakeInterventions) Clear(_ context.Context, n string) ([]string, error) {
	return f.record(n, "restore")
}

func (f *fakeInterventions) Delay(_ context.Context, n string, d time.Duration) ([]string, error) {
	return f.record(n, "delay by "+d.String())
}

func (f *fakeInterventions) Fail(_ context.Context, n string, how Fault) ([]string, error) {
	return f.record(n, fmt.Sprintf("fail %+v", how))
}

func (f *fakeInterventions) Scale(_ context.Context, n string, workers int) ([]string, error) {
	return f.record(n, fmt.Sprintf("scale to %d", workers))
}

var testHeldWrite = HeldWrite{Verb: "create", Object: observe.Object{Resource: "pods", Name: "web-"}, Since: time.Unix(1, 0).UTC(), Body: json.RawMessage(`{"a":1}`)}

func (f *fakeInterventions) Step(_ context.Context, name string) (*SteppedWrite, error) {
	if name == "idle" {
		return nil, nil
	}
	_, err := f.record(name, "step")
	return &SteppedWrite{HeldWrite: testHeldWrite, Status: 201}, err
}

func (f *fakeInterventions) HeldWrites(_ context.Context, name string, limit int) (HeldWriteList, error) {
	_, err := f.record(name, fmt.Sprintf("held %d", limit))
	return HeldWriteList{Items: []HeldWrite{testHeldWrite}, Total: 7}, err
}

func newInterventionsServer(t *testing.T, f *fakeInterventions) (Interventions, string) {
	t.Helper()
	mux := http.NewServeMux()
	handleInterventions(mux, f)
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
	g, _ := newInterventionsServer(t, f)
	ctx := t.Context()
	for _, do := range []func(context.Context, string) ([]string, error){g.Stop, g.Start, g.Pause, g.Resume, g.Clear} {
		names, err := do(ctx, "a,b")
		if diff := cmp.Diff([]string{"a", "b"}, names); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		if _, err := do(ctx, "bad"); err == nil || !strings.HasSuffix(err.Error(), `unknown controller "bad"`) || !errors.As(err, new(usage.Error)) {
			t.Errorf("got %v", err)
		}
	}
	_, resumed := g.Resume(ctx, AllControllers)
	_, delayed := g.Delay(ctx, "a", 1500*time.Millisecond)
	_, failed := g.Fail(ctx, "a", Fault{Rate: 0.3, Code: "409", Verb: "update", Resource: "deployments.apps"})
	_, scaled := g.Scale(ctx, "a", 3)
	if err := errors.Join(resumed, delayed, failed, scaled); err != nil {
		t.Error(err)
	}
	stepped, err := g.Step(ctx, "a")
	if diff := cmp.Diff(&SteppedWrite{HeldWrite: testHeldWrite, Status: 201}, stepped); err != nil || diff != "" {
		t.Errorf("step: %v\n%s", err, diff)
	}
	if stepped, err := g.Step(ctx, "idle"); stepped != nil || err != nil {
		t.Errorf("step of what holds nothing: %v, %v", stepped, err)
	}
	held, err := g.HeldWrites(ctx, "a", 5)
	if diff := cmp.Diff(HeldWriteList{Items: []HeldWrite{testHeldWrite}, Total: 7}, held); err != nil || diff != "" {
		t.Errorf("held: %v\n%s", err, diff)
	}
	want := []string{"stop a,b", "start a,b", "pause a,b", "resume a,b", "restore a,b", "resume *", "delay by 1.5s a",
		"fail {Rate:0.3 Code:409 Verb:update Resource:deployments.apps} a", "scale to 3 a", "step a", "held 5 a"}
	if diff := cmp.Diff(want, f.asked); diff != "" {
		t.Errorf("asked: -want +got:\n%s", diff)
	}
}

func TestInterventionsRefuseInvalidParameters(t *testing.T) {
	_, url := newInterventionsServer(t, &fakeInterventions{})
	for target, want := range map[string]int{
		"POST /a/delay":             http.StatusBadRequest,
		"POST /a/delay?duration=2":  http.StatusBadRequest,
		"POST /a/delay?duration=2s": http.StatusOK,
		"POST /a/fail?rate=much":    http.StatusBadRequest,
		"POST /a/scale":             http.StatusBadRequest,
		"POST /a/scale?workers=few": http.StatusBadRequest,
		"POST /a/scale?workers=2":   http.StatusOK,
		"GET /a/held?limit=-1":      http.StatusBadRequest,
		"GET /a/held":               http.StatusOK,
		"POST /a/held":              http.StatusMethodNotAllowed,
		"GET /a/pause":              http.StatusMethodNotAllowed,
		"POST /a/polish":            http.StatusNotFound,
	} {
		method, path, _ := strings.Cut(target, " ")
		req, err := http.NewRequestWithContext(t.Context(), method, url+ControllersPath+path, nil)
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
			t.Errorf("%s: got %d, want %d", target, resp.StatusCode, want)
		}
	}
}
