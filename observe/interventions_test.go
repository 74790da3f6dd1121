package observe

import (
	"testing"
	"time"
)

// The text of a pause comes first: what shows it puts the number of held writes in its place.
func TestTextOfInterventions(t *testing.T) {
	all := Interventions{Paused: true, Delay: 2 * time.Second, Fault: Fault{Rate: 0.3, Code: "409", Verb: "update", Resource: "pods"}, Workers: 1, ConfiguredWorkers: 5}
	for _, tt := range []struct {
		set         Interventions
		state, want string
	}{
		{Interventions{}, "running", ""},
		{all, "paused", "its writes are held, each call waits 2s, 30% of its update pods calls fail: 409, 1 worker in place of 5"},
		{Interventions{Workers: 1000, ConfiguredWorkers: 5}, "running", "1000 workers in place of 5"},
	} {
		want := ControllerChanged{State: tt.state, Reason: tt.want, Interventions: tt.set}
		if got := tt.set.RunningState(); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
