package rest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

type fakeSpeed struct{ speed observe.Speed }

func (f *fakeSpeed) SetSpeed(_ context.Context, s observe.Speed) error {
	if s == "2" || s == "" {
		return usage.Errorf("speed %q: choose another", string(s))
	}
	f.speed = s
	return nil
}

func (f *fakeSpeed) StepKey(context.Context) (*control.ReleasedKey, error) {
	if f.speed != observe.SpeedStep {
		return nil, nil
	}
	return &control.ReleasedKey{Controller: "web", RunningSync: observe.RunningSync{Key: "default/a"}}, nil
}

func TestSpeed(t *testing.T) {
	f := &fakeSpeed{}
	mux := http.NewServeMux()
	handleSpeed(mux, f)
	srv := httptest.NewServer(mux)
	defer srv.Close()
	client, err := NewClient(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	speed := client.SpeedControl()
	if key, err := speed.StepKey(t.Context()); err != nil || key != nil {
		t.Errorf("no key waits: %+v, %v", key, err)
	}
	for s, says := range map[observe.Speed]string{"2": `speed "2": choose another`, "": `speed "": choose another`} {
		if err := speed.SetSpeed(t.Context(), s); !errors.As(err, new(usage.Error)) || !strings.HasSuffix(err.Error(), says) {
			t.Errorf("%q: %v", s, err)
		}
	}
	if err := speed.SetSpeed(t.Context(), observe.SpeedStep); err != nil || f.speed != observe.SpeedStep {
		t.Errorf("%v, speed %q", err, f.speed)
	}
	key, err := speed.StepKey(t.Context())
	if err != nil || key == nil || key.Controller != "web" || key.Key != "default/a" {
		t.Errorf("released %+v, %v", key, err)
	}
}
