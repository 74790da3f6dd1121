package live

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const conflictError = `Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version`

const staleError = "read version: 7 is not as new as written version: 9 for group resource statefulsets.apps"

// TestConflictIsNormal: it does not hide what a controller works on, nor other errors.
func TestConflictIsNormal(t *testing.T) {
	conflict := observe.FailingKey{Queue: "deployment", Key: "default/web", KeyBasis: observe.BasisLog, Error: conflictError}
	other := observe.FailingKey{Queue: "deployment", Key: "default/db", KeyBasis: observe.BasisLog, Error: `replicasets.apps "db" is forbidden: quota`}
	running := observe.RunningSync{Queue: "deployment", Key: "default/api", KeyBasis: observe.BasisLog}
	queue := &observe.Queue{Name: "deployment"}
	for want, c := range map[string]observe.Controller{
		"conflict, tries again: default/web":                      {Failing: []observe.FailingKey{conflict}},
		"stale cache, tries again: default/web":                   {Failing: []observe.FailingKey{{Queue: "deployment", Key: "default/web", KeyBasis: observe.BasisLog, Error: staleError, Times: 2}}},
		"default/api":                                             {Failing: []observe.FailingKey{conflict}, Running: []observe.RunningSync{running}},
		"fails: quota (default/db)":                               {Failing: []observe.FailingKey{conflict, other}, Running: []observe.RunningSync{running}},
		"waits: a kind that it needs cannot be listed: not found": {Unlisted: "not found", State: stateRunning},
		"waits: cannot list v1.Lease: not found":                  {Unlisted: "failed to list *v1.Lease: not found", State: stateRunning},
		"waits: cannot list v1.Job: gone; cannot list v1.Pod: no": {Unlisted: "failed to list *v1.Job: gone; failed to list *v1.Pod: no", State: stateRunning},
		"fails: default/new":                                      {Failing: []observe.FailingKey{{Queue: "deployment", Key: "default/new", KeyBasis: observe.BasisLog}}},
	} {
		m := newTestModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot()}}, 100, 30)
		if got, _ := m.nowText(row{queue: queue, info: &c}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, err := range []string{conflictError, staleError} {
		sync := observe.Record{Event: &observe.Synced{Controller: "deployment-controller", Queue: "deployment", Key: "default/web", KeyBasis: observe.BasisLog, Error: err, Retried: true}}
		if i := describeRecord(sync); i.mark != markConflict || i.status != "retry" || i.subject != "default/web" {
			t.Errorf("%+v", i)
		}
		m := newPlainModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot()}}, 100, 30)
		m.rows = []row{{controller: "deployment-controller", queue: queue, info: &observe.Controller{Failing: []observe.FailingKey{{Queue: "deployment", Key: "default/web", Error: err, Times: 2}}}}}
		if l := m.failureLine(); l != nil {
			t.Errorf("the footer says %q", l.plainText())
		}
	}
}

// TestWaitingForAKindThatCannotBeListed: the row stays without idle ones, and the page has the whole reason.
func TestWaitingForAKindThatCannotBeListed(t *testing.T) {
	const reason = "failed to list *v1.Job: the server could not find the requested resource (get jobs.batch)"
	s := idleSnapshot()
	for i := range s.Controllers {
		if c := &s.Controllers[i]; c.Name == "job-controller" {
			c.Unlisted = reason
		}
	}
	m := pressKeys(t, newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, 100, 30), "i")
	if screen := strings.Join(m.drawScreen(), "\n"); !strings.Contains(screen, "waits: cannot list v1.Job") || strings.Contains(screen, "cronjob") {
		t.Errorf("without idle rows:\n%s", screen)
	}
	page := strings.Join(strings.Fields(strings.Join(m.openController("job-controller").drawScreen(), " ")), " ")
	if want := "waits a kind that it needs cannot be listed: " + reason; !strings.Contains(page, want) {
		t.Errorf("the page has no %q:\n%s", want, page)
	}
}

// TestFailingComesFirst: a controller whose key fails is above the busiest one, with the
// decisive words of the error, at the least size that is supported well. It stays in the table
// without idle rows, also while the key waits for its retry.
func TestFailingComesFirst(t *testing.T) {
	s := burstSnapshot()
	for i := range s.Controllers {
		if c := &s.Controllers[i]; c.Name == "job-controller" {
			c.Failing = failingKeys(1, `pods "broken-" is forbidden: exceeded quota: small, requested: pods=1, used: pods=10, limited: pods=10`)
		}
	}
	m := newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, 80, 24)
	for _, m := range []model{m, pressKeys(t, m, "i")} {
		if first := m.drawScreen()[m.screenAreas().upper.y+2]; !strings.Contains(first, "job") || !strings.Contains(first, "fails: exceeded quota") {
			t.Errorf("the first row is %q", first)
		}
	}
	later := m
	later.snapshot.Time = s.Time.Add(orderKeepTime / 2)
	if later = later.arrangeRows(false); later.arrangedAt != m.arrangedAt {
		t.Error("the rows do not keep their places")
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

// TestDelayedKeysAreAnUpperBound: a queue does not report that it merges two delayed keys.
func TestDelayedKeysAreAnUpperBound(t *testing.T) {
	queue := &observe.Queue{Name: "deployment", Delayed: 6, NextDue: testNow.Add(10 * time.Minute)}
	for _, ascii := range []bool{false, true} {
		m := newTestModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot()}}, 100, 30).withTheme(newTheme(false, true, ascii))
		want := map[bool]string{false: ", ≤6 delayed", true: ", <=6 delayed"}[ascii]
		if got, _ := m.nowText(row{queue: queue, info: &observe.Controller{}}); !strings.HasSuffix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
