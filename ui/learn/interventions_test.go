package learn

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// A wait that ended says which controllers are changed manually, except those that the lesson changes.
func TestInterventionsAreNamed(t *testing.T) {
	paused := observe.Interventions{Paused: true}
	s := observe.Snapshot{Controllers: []observe.Controller{
		{Name: "replicaset-controller", State: observe.StatePaused, Reason: paused.String(), Interventions: paused, Held: 1},
		{Name: "deployment-controller", State: observe.StateRunning},
		{Name: "job-controller", State: observe.StateOff, Reason: observe.ReasonStopped},
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(s); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	client, err := controlrest.NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	const replicaSet = "Note: replicaset-controller is paused: 1 write is held. To undo it: \"ctrlplane controllers resume replicaset-controller\"\n"
	const job = "Note: job-controller is stopped. To undo it: \"ctrlplane controllers start job-controller\"\n"
	for command, want := range map[string]string{
		"kubectl create deployment replicaset":    replicaSet + job,
		"ctrlplane controllers pause replicaset":  job,
		"ctrlplane controllers stop deployment x": replicaSet + job,
	} {
		p := &controlPlane{control: client, controllerNames: map[string]string{"replicaset": "replicaset-controller", "deployment": "deployment-controller"}}
		var out bytes.Buffer
		r := &runner{plane: p, shell: &shell{}, probe: &probe{controlPlane: p}, lesson: &Lesson{Steps: []*Step{{Parts: []Part{&Do{Run: Commands{command}}}}}}}
		r.console = &console{style: style{ui.Mode{}}, out: &out}
		err := r.requireChecks(t.Context(), []*Check{{Queue: "nosuch", Of: "adds"}}, time.Millisecond)
		if err == nil || strings.ReplaceAll(out.String(), "\n  ", " ") != want {
			t.Errorf("%s: %v, got\n%swant\n%s", command, err, &out, want)
		}
	}
}

// Of many interventions only some are named.
func TestManyInterventions(t *testing.T) {
	var out bytes.Buffer
	r := &runner{}
	r.console = &console{style: style{ui.Mode{}}, out: &out}
	r.printInterventions(make([]ui.Intervention, 5))
	if text := out.String(); strings.Count(text, "Note: ") != 4 || !strings.HasSuffix(text, "Note: 2 more interventions: \"ctrlplane status\" names them.\n") {
		t.Error(text)
	}
}
