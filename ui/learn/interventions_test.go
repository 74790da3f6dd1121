package learn

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// A wait that ended says which interventions are those from before the lesson that may be why.
func TestInterventionsAreNamed(t *testing.T) {
	paused, delayed := observe.Interventions{Paused: true}, observe.Interventions{Delay: time.Second}
	pausedController := func(name string, held int) observe.Controller {
		return observe.Controller{Name: name, State: observe.StatePaused, Reason: paused.String(), Interventions: paused, Held: held}
	}
	delayedClient := func(name string, set observe.Interventions) observe.Client {
		return observe.Client{Name: name, State: observe.StateRunning, Reason: set.String(), Interventions: set}
	}
	before := observe.Snapshot{
		Controllers: []observe.Controller{
			pausedController("replicaset-controller", 0), pausedController("deployment-controller", 0),
			{Name: "job-controller", State: observe.StateOff, Reason: observe.ReasonStopped},
			{Name: "cronjob-controller", State: observe.StateRunning},
		},
		Clients: []observe.Client{delayedClient("helm (a b)", delayed), delayedClient("kubectl (a)", observe.Interventions{})},
	}
	now := observe.Snapshot{
		Controllers: []observe.Controller{
			pausedController("replicaset-controller", 1), pausedController("deployment-controller", 0), // which holds nothing
			before.Controllers[2], pausedController("cronjob-controller", 1), // by the lesson
		},
		Clients: []observe.Client{delayedClient("helm (a b)", delayed), delayedClient("kubectl (a)", delayed)},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(now); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	client, err := controlrest.NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	p := &controlPlane{control: client}
	var out bytes.Buffer
	r := &runner{plane: p, shell: &shell{}, probe: &probe{controlPlane: p}, lesson: &Lesson{}, initial: &initialState{interventions: ui.Interventions(before)}}
	r.console = &console{style: style{ui.Mode{}}, out: &out}
	err = r.requireChecks(t.Context(), []*Check{{Queue: "nosuch", Of: "adds"}}, time.Millisecond)
	const want = "Note: replicaset-controller is paused: 1 write is held. To undo it: \"ctrlplane controllers resume replicaset-controller\"\n" +
		"Note: job-controller is stopped. To undo it: \"ctrlplane controllers start job-controller\"\n" +
		"Note: helm (a b) has an intervention: each call waits 1s. To undo it: \"ctrlplane clients clear 'helm (a b)'\"\n"
	if err == nil || strings.ReplaceAll(out.String(), "\n  ", " ") != want {
		t.Errorf("%v, got\n%swant\n%s", err, &out, want)
	}
}

// The end of a lesson ends what was not there before it, in controllers and in clients.
func TestRevertInterventions(t *testing.T) {
	all := observe.Interventions{Paused: true, Delay: time.Second, Workers: 1, ConfiguredWorkers: 5}
	paused := observe.Interventions{Paused: true}
	controller := func(name string, set observe.Interventions) observe.Controller {
		e := set.RunningState()
		return observe.Controller{Name: name, State: e.State, Reason: e.Reason, Interventions: set}
	}
	stopped := func(name string) observe.Controller {
		return observe.Controller{Name: name, State: observe.StateOff, Reason: observe.ReasonStopped}
	}
	client := func(name string, set observe.Interventions) observe.Client {
		c := controller(name, set)
		return observe.Client{Name: name, State: c.State, Reason: c.Reason, Interventions: set}
	}
	before := observe.Snapshot{
		Controllers: []observe.Controller{controller("paused", paused), controller("more", paused), stopped("stopped"), controller("free", observe.Interventions{})},
		Clients:     []observe.Client{client("helm", paused)},
	}
	now := observe.Snapshot{
		Controllers: []observe.Controller{
			controller("paused", paused), controller("more", all), stopped("stopped"), controller("free", all), stopped("off"), controller("shop/new", paused),
		},
		Clients: []observe.Client{client("helm", paused), client("free", paused), client("kubectl (a)", observe.Interventions{Paused: true, Delay: time.Second})},
	}
	var changes []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			changes = append(changes, r.URL.Path+" "+string(body))
		}
		if err := json.NewEncoder(w).Encode(now); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	api, err := controlrest.NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	h := &initialState{interventions: ui.Interventions(before)}
	if err := (&controlPlane{control: api}).revertInterventions(t.Context(), h); err != nil {
		t.Error(err)
	}
	var want []string
	for _, c := range [][3]string{
		{controlrest.ControllersPath, "clear", `"more"]`}, {controlrest.ControllersPath, "scale", `"more"],"workers":5`},
		{controlrest.ControllersPath, "clear", `"free"]`}, {controlrest.ControllersPath, "resume", `"free"]`}, {controlrest.ControllersPath, "scale", `"free"],"workers":5`},
		{controlrest.ControllersPath, "start", `"off"]`}, {controlrest.ControllersPath, "clear", `"off"]`}, {controlrest.ControllersPath, "resume", `"off"]`},
		{controlrest.ClientsPath, "resume", `"free"]`}, {controlrest.ClientsPath, "clear", `"kubectl (a)"]`}, {controlrest.ClientsPath, "resume", `"kubectl (a)"]`},
	} {
		want = append(want, c[0]+"/"+c[1]+` {"names":[`+c[2]+"}")
	}
	if !slices.Equal(changes, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(changes, "\n"), strings.Join(want, "\n"))
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
