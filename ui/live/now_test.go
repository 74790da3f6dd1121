package live

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

const conflictError = `Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version`

// What is wrong comes before what is known from the key.
func TestEssence(t *testing.T) {
	for err, want := range map[string]string{
		`pods "broken-" is forbidden: exceeded quota: small`: "forbidden: exceeded quota: small",
		conflictError:                          "the object has been modified; please apply your changes to the latest version",
		`deployments.apps "shop" not found`:    "not found",
		"connection refused":                   "connection refused",
		`create: pods "x" already exists`:      `create: pods "x" already exists`,
		"":                                     "",
		`nodes "a": the object was renamed`:    "the object was renamed",
		`exit code 1: pods "x" already exists`: `exit code 1: pods "x" already exists`,
	} {
		if got := essence(err); got != want {
			t.Errorf("%q: got %q, want %q", err, got, want)
		}
	}
}

// TestConflictIsNormal: it does not hide what a controller works on, nor other errors.
func TestConflictIsNormal(t *testing.T) {
	conflict := observe.FailingKey{Queue: "deployment", Key: "default/web", KeyBasis: observe.BasisLog, Error: conflictError}
	other := observe.FailingKey{Queue: "deployment", Key: "default/db", KeyBasis: observe.BasisLog, Error: `replicasets.apps "db" is forbidden: quota`}
	running := observe.RunningSync{Queue: "deployment", Key: "default/api", KeyBasis: observe.BasisLog}
	queue := &observe.Queue{Name: "deployment"}
	for want, c := range map[string]observe.Controller{
		"conflict, tries again: default/web":   {Failing: []observe.FailingKey{conflict}},
		"default/api":                          {Failing: []observe.FailingKey{conflict}, Running: []observe.RunningSync{running}},
		"fails: forbidden: quota (default/db)": {Failing: []observe.FailingKey{conflict, other}, Running: []observe.RunningSync{running}},
		"fails: default/new":                   {Failing: []observe.FailingKey{{Queue: "deployment", Key: "default/new", KeyBasis: observe.BasisLog}}},
	} {
		m := newTestModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot()}}, 100, 30)
		if got, _ := m.nowText(row{queue: queue, info: &c}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	sync := observe.Record{Event: &observe.Synced{Controller: "deployment-controller", Queue: "deployment", Key: "default/web", KeyBasis: observe.BasisLog, Error: conflictError, Retried: true}}
	if i := describeRecord(sync); i.mark != markConflict || i.status != "retry" || i.subject != "default/web" {
		t.Errorf("%+v", i)
	}
}

// TestWorkComesFirst: a controller that holds a key is above those that have finished many.
func TestWorkComesFirst(t *testing.T) {
	s := heldSnapshot()
	for i := range s.Queues {
		if q := &s.Queues[i]; strings.HasPrefix(q.Name, "garbage_collector") {
			q.AddRate, q.DoneRate = 60, 60
		}
	}
	m := newTestModel(t, Options{Source: &fixedSource{snapshot: s}}, 100, 30)
	if got := firstRows(m, 2); got[0] != "replicaset" || !strings.HasPrefix(got[1], "garbage_collector") {
		t.Errorf("the first rows are %v", got)
	}
}
