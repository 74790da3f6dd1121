package controllers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// countingTransport counts the requests that reach the API server.
type countingTransport struct{ sent atomic.Int64 }

func (c *countingTransport) RoundTrip(*http.Request) (*http.Response, error) {
	c.sent.Add(1)
	return &http.Response{StatusCode: http.StatusCreated, Body: io.NopCloser(strings.NewReader("{}")), Header: http.Header{}}, nil
}

// createPod sends a write through a gate.
func createPod(ctx context.Context, g *intervene.Gate, api *countingTransport) error {
	client, err := rest.HTTPClientFor(intervene.InterceptCalls(&rest.Config{Transport: api}, g))
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://x/api/v1/namespaces/default/pods", strings.NewReader(""))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// A paused controller is shown as such. It stops at once although it waits for a
// write that is held.
func TestStopOfPausedController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe.New(observe.Options{})
		defer o.Close()
		u, api := newUnit(), &countingTransport{}
		u.recorder = o.Recorder(u.name)
		if _, err := u.changeGate(false, func(*intervene.Gate) (bool, error) { return true, nil }); !errors.As(err, new(usage.Error)) {
			t.Errorf("intervention in a controller that is off: %v", err)
		}
		g := u.replaceGate(intervene.ObjectReader{}, nil)
		begin, wrote := make(chan struct{}), make(chan error, 1)
		err := u.build(t.Context(), &informerView{}, constructorOf(func(ctx context.Context) {
			<-begin
			wrote <- createPod(context.WithoutCancel(ctx), g, api)
		}))
		if err != nil {
			t.Fatal(err)
		}
		u.start()
		if _, err := u.changeGate(false, pauseGate(t)); err != nil {
			t.Fatal(err)
		}
		if got := u.status(); got.State != Paused || got.Reason != "its writes are held" {
			t.Errorf("got %+v", got)
		}
		if err := u.checkReady(nil); err != nil {
			t.Errorf("paused, but not ready: %v", err)
		}
		close(begin)
		synctest.Wait()
		if err := u.stop(); err != nil {
			t.Error(err)
		}
		if err := <-wrote; !errors.Is(err, errStopped) {
			t.Errorf("held write: %v", err)
		}
		if got := u.status(); got.State != Off || api.sent.Load() != 0 {
			t.Errorf("got %+v; %d writes sent", got, api.sent.Load())
		}
		if err := createPod(t.Context(), g, api); !errors.Is(err, errStopped) {
			t.Errorf("write after the stop: %v", err)
		}
		var states []string
		page, err := o.Records(t.Context(), observe.Query{Kinds: []observe.Kind{observe.KindControllerChanged}})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			states = append(states, r.Event.(*observe.ControllerChanged).State)
		}
		if diff := cmp.Diff([]string{"building", "running", "paused", "stopping", "off"}, states); diff != "" {
			t.Errorf("states: -want +got:\n%s", diff)
		}
	})
}

func pauseGate(t *testing.T) gateChange {
	return func(g *intervene.Gate) (bool, error) { return true, g.Pause(t.Context()) }
}

func resumeGate(g *intervene.Gate) (bool, error) { return g.Resume(), nil }

func TestRepeatedPauseAndResume(t *testing.T) {
	u := newUnit()
	if resumed, err := u.changeGate(true, resumeGate); resumed || err != nil {
		t.Error("resumed a controller that never ran")
	}
	u.replaceGate(intervene.ObjectReader{}, nil)
	u.setState(Running, "", nil)
	for range 2 {
		if _, err := u.changeGate(false, pauseGate(t)); err != nil {
			t.Error(err)
		}
	}
	if got := u.status().State; got != Paused {
		t.Errorf("got %s", got)
	}
	for _, want := range []bool{true, false} {
		if got, err := u.changeGate(true, resumeGate); got != want || err != nil {
			t.Errorf("resumed: %t, want %t, %v", got, want, err)
		}
	}
	if got := u.status(); got.State != Running || got.Reason != "" {
		t.Errorf("got %+v", got)
	}
}
