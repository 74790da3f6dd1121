package main

import (
	"context"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// pacedPlane is a control plane that releases a key at once.
type pacedPlane struct {
	observe.Source
	control.SpeedControl
	snapshot observe.Snapshot
	key      control.ReleasedKey
}

func (p *pacedPlane) Snapshot(context.Context) (observe.Snapshot, error) { return p.snapshot, nil }

func (p *pacedPlane) StepKey(context.Context) (*control.ReleasedKey, error) {
	return &p.key, nil
}

// A user who releases a key while none waits learns what the command waits for.
func TestSpeedNextSaysThatItWaits(t *testing.T) {
	const says = "ctrlplane: no key waits: waiting for the next one; Ctrl-C stops waiting\n"
	plane := &pacedPlane{key: control.ReleasedKey{Controller: "deployment-controller", RunningSync: observe.RunningSync{Queue: "deployment", Key: "default/web"}}}
	waiting := []observe.Controller{{Running: []observe.RunningSync{{Waits: true}}}}
	for _, tc := range []struct {
		speed       observe.Speed
		controllers []observe.Controller
		want        string
	}{
		{observe.SpeedStep, nil, says},
		{observe.SpeedStep, waiting, ""},
		{observe.SpeedFull, nil, ""}, // which is an error
	} {
		plane.snapshot.Process.Speed, plane.snapshot.Controllers = tc.speed, tc.controllers
		var out, errs strings.Builder
		if err := releaseKey(t.Context(), &out, &errs, plane, plane); err != nil || errs.String() != tc.want {
			t.Errorf("speed %s: %v, stderr %q, want %q", tc.speed, err, errs.String(), tc.want)
		}
		if got := out.String(); got != "released: deployment-controller (queue deployment) works on default/web\n" {
			t.Errorf("got %q", got)
		}
	}
}
