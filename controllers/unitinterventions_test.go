package controllers

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// A paused controller shows as such, and stops at once though it is in the
// middle of a write that nothing else would end.
func TestStopOfPausedController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe.New(observe.Options{})
		defer o.Close()
		u, api := newUnit(), &fakeTransport{}
		u.recorder = o.Recorder(u.name)
		if err := u.applyIntervention(func(*Gate) error { return nil }); !errors.As(err, new(usage.Error)) {
			t.Errorf("a hand on a controller that is off: %v", err)
		}
		g := u.replaceGate(ObjectReader{})
		begin, wrote := make(chan struct{}), make(chan error, 1)
		err := u.build(t.Context(), &facade{}, constructorOf(func(ctx context.Context) {
			<-begin
			wrote <- sendRequest(context.WithoutCancel(ctx), gateTransport{api, g}, http.MethodPost, pods, "")
		}))
		if err != nil {
			t.Fatal(err)
		}
		u.start()
		if err := u.applyIntervention(func(g *Gate) error { return g.Pause(t.Context()) }); err != nil {
			t.Fatal(err)
		}
		if got := u.status(); got.State != Paused || got.Reason != "its writes are held" {
			t.Errorf("got %+v", got)
		}
		if err := u.checkReady(nil); err != nil {
			t.Errorf("paused, and not ready: %v", err)
		}
		close(begin)
		synctest.Wait()
		if err := u.stop(); err != nil {
			t.Error(err)
		}
		if err := <-wrote; !errors.Is(err, errStopped) {
			t.Errorf("the held write: %v", err)
		}
		if got := u.status(); got.State != Off || len(api.sentPaths()) != 0 {
			t.Errorf("got %+v; carried out: %v", got, api.sentPaths())
		}
		if err := sendRequest(t.Context(), gateTransport{api, g}, http.MethodPost, pods, ""); !errors.Is(err, errStopped) {
			t.Errorf("a write after the end: %v", err)
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

func TestRepeatedPauseAndResume(t *testing.T) {
	u := newUnit()
	if err := u.clearIntervention((*Gate).Resume); err != nil {
		t.Errorf("resume of what never ran: %v", err)
	}
	u.replaceGate(ObjectReader{})
	u.setState(Running, "", nil)
	for range 2 { // twice is once
		if err := u.applyIntervention(func(g *Gate) error { return g.Pause(t.Context()) }); err != nil {
			t.Error(err)
		}
	}
	if got := u.status().State; got != Paused {
		t.Errorf("got %s", got)
	}
	for range 2 {
		if err := u.clearIntervention((*Gate).Resume); err != nil {
			t.Error(err)
		}
	}
	if got := u.status(); got.State != Running || got.Reason != "" {
		t.Errorf("got %+v", got)
	}
}
