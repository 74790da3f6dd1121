package live

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// The filter of a list of objects or clients applies to the list, that of Activity to Activity.
func TestFilterOfLists(t *testing.T) {
	m := openPods(t, newPlainModel(t, Options{Source: newBrowsableSource()}, 100, 24))
	m = pressKeys(t, m, "/", "w", "e", "b", "enter")
	if s := m.currentScreen(); s.focus != upperPane || s.filter != "web" || s.feed.filter != "" {
		t.Fatalf("focus %d, filter %q, of Activity %q", s.focus, s.filter, s.feed.filter)
	}
	if got := m.View().Content; strings.Contains(got, "import-x7") || !strings.Contains(got, "/web, 1 of 3 healthy") || len(m.browsedItems()) != 2 {
		t.Errorf("the list is not filtered:\n%s", got)
	}
	if o := pressKeys(t, m, "j").selectedObject(); o == nil || o.Name != "web-7d4b9c-z" {
		t.Errorf("selected %v", o)
	}
	if opened := pressKeys(t, m, "enter"); opened.currentScreen().object.Name != "web-7d4b9c-x2x9p" {
		t.Errorf("opened %v", opened.currentScreen().object)
	}
	if none := pressKeys(t, m, "/", "x", "y"); !strings.Contains(none.View().Content, "nothing matches the filter") || none.selectedObject() != nil {
		t.Errorf("got\n%s", none.View().Content)
	}
	if all := pressKeys(t, m, "esc"); len(all.browsedItems()) != 3 || all.currentScreen().kind != browserScreen {
		t.Errorf("esc leaves %d objects", len(all.browsedItems()))
	}
	if s := pressKeys(t, m, "tab", "/", "j").currentScreen(); s.filter != "web" || s.feed.filter != "j" {
		t.Errorf("filter %q, of Activity %q", s.filter, s.feed.filter)
	}
}

func TestFilterOfClients(t *testing.T) {
	m := newPlainModel(t, Options{Source: &fixedSource{snapshot: clientsSnapshot()}}, 100, 24)
	m = pressKeys(t, m, "c", "/", "k", "u", "b", "e", "c", "enter")
	if list := m.listedClients(); len(list) != 1 || !strings.HasPrefix(m.selectedController(), "kubectl") {
		t.Errorf("%d clients, selected %q", len(list), m.selectedController())
	}
	if opened := pressKeys(t, m, "enter"); !strings.HasPrefix(opened.currentScreen().controller, "kubectl") {
		t.Errorf("opened %q", opened.currentScreen().controller)
	}
}

// The page of a client that has only read says how to see that.
func TestClientWithoutWrites(t *testing.T) {
	s := clientsSnapshot()
	for i := range s.Clients {
		s.Clients[i].Requests, s.Clients[i].Reads, s.Clients[i].Changes = 7, 7, 0
	}
	m := newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, 100, 30)
	m = pullOnce(t, pressKeys(t, m, "c", "enter"))
	if got := m.View().Content; !strings.Contains(got, "no writes yet: a shows 7 reads") {
		t.Errorf("got\n%s", got)
	}
}

// Names of rows that a filter hides take no room from those that it shows.
func TestFilterNarrowsTheNames(t *testing.T) {
	s := idleSnapshot()
	long := strings.Repeat("long", 6)
	s.Controllers = append(s.Controllers, observe.Controller{Name: long, State: stateRunning})
	m := newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, 100, 24)
	if m.totals.names.label != len(long) {
		t.Errorf("the widest name has %d columns, want %d", m.totals.names.label, len(long))
	}
	if m = pressKeys(t, m, "/", "r", "e", "p", "l", "enter"); m.totals.names.label != len("replicaset") {
		t.Errorf("with a filter the widest name has %d columns", m.totals.names.label)
	}
}

// The queues of one controller can be told apart, also in a narrow column.
func TestLabelsKeepTheEnd(t *testing.T) {
	for name, want := range map[string]string{
		"DynamicCABundle-client-ca-bundle": "kube-ap… …lient-ca-bundle",
		"crd_finalizer":                    "kube-apise… crd_finalizer",
	} {
		r := row{controller: "kube-apiserver", name: name, shared: true}
		if got := r.labelIn(25, "…"); got != want || textWidth(got) > 25 {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (row{controller: "deployment-controller", name: "deployment"}).labelIn(18, "…"); got != "deployment" {
		t.Errorf("got %q", got)
	}
}

func TestNoWarnings(t *testing.T) {
	source := &fixedSource{snapshot: idleSnapshot()}
	own := newPlainModel(t, Options{Source: source, Warnings: func() []string { return nil }}, 100, 24)
	if got := pressKeys(t, own, "W").View().Content; !strings.Contains(got, "none of ctrlplane itself since the start") {
		t.Errorf("got\n%s", got)
	}
	attached := newPlainModel(t, Options{Source: source}, 100, 24) // which does not have them
	if got := pressKeys(t, attached, "W").View().Content; strings.Contains(got, "none of ctrlplane") || !strings.Contains(got, "Activity has the warnings of ctrlplane itself") {
		t.Errorf("attached:\n%s", got)
	}
}

// At 100 columns the name of each controller has room. RETRIES counts failures only, also where REQUEUES has no room.
func TestNamesAndRetriesAtHundredColumns(t *testing.T) {
	s := idleSnapshot()
	s.Controllers[0].Name = "replenish/stock-of-shops"
	s.Queues = []observe.Queue{{Controller: s.Controllers[0].Name, Name: "stock", Retries: 12}}
	m := newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, 100, 70)
	got := m.View().Content
	if !strings.Contains(got, "replenish/stock-of-shops ") || strings.Contains(got, " +12") || strings.Contains(got, " 12 ") || strings.Contains(got, "REQUEUES") {
		t.Errorf("got\n%s", got)
	}
	s.Queues[0].ErrorRetries = 5
	if got := newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, 100, 70).View().Content; strings.Contains(got, "+7") || !strings.Contains(got, "        5") {
		t.Errorf("got\n%s", got)
	}
	if got := newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, 200, 30).View().Content; !strings.Contains(got, "REQUEUES") {
		t.Errorf("got\n%s", got)
	}
}

// The footer offers the diff of a step only while its controller is paused.
func TestDiffIsOfferedWhilePaused(t *testing.T) {
	s := pausedSnapshot()
	m := newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, 140, 30)
	for _, c := range s.Controllers {
		if c.State == statePaused {
			m.steps = append(m.steps, &steppedView{controller: c.Name})
		}
	}
	if got := m.footerLine(140).plainText(); !strings.Contains(got, "d diff") {
		t.Errorf("got %q", got)
	}
	m = m.applySnapshot(idleSnapshot(), nil)
	if got := m.footerLine(140).plainText(); strings.Contains(got, "d diff") {
		t.Errorf("got %q after resume", got)
	}
}

// An operator whose process has ended says so, and since when.
func TestEndedOperator(t *testing.T) {
	s := idleSnapshot()
	s.Controllers = append(s.Controllers, observe.Controller{Name: "shop/site", State: stateOff, Reason: "its process has ended; last heard of during the sync of default/a", Gone: observe.GoneEnded, Since: testNow.Add(-90 * time.Second)})
	s.Time = testNow
	src := &intervenableSource{fixedSource: &fixedSource{snapshot: s}}
	m := newPlainModel(t, Options{Source: src}, 100, 30)
	if got := m.View().Content; !strings.Contains(got, "\n▌shop/site ") || !strings.Contains(got, "ended 1m 30s ago") || !strings.Contains(got, " x remove") {
		t.Errorf("got\n%s", got)
	}
	if m = pressAndRun(t, m, "p"); m.message != "shop/site has ended: the writes of its next process will be held" {
		t.Errorf("p: %q", m.message)
	}
	m = pressKeys(t, m, "x")
	if got := m.View().Content; !strings.Contains(got, " Remove shop/site? Its process has ended; its records remain.") {
		t.Errorf("x:\n%s", got)
	}
	if m = pressAndRun(t, m, "y"); !slices.Equal(src.calls, []string{"pause shop/site", "remove shop/site"}) {
		t.Errorf("calls: %q", src.calls)
	}
}

// An operator that does not report may be suspended, as by a debugger: its process is not said to have ended.
func TestSilentOperator(t *testing.T) {
	s := idleSnapshot()
	s.Controllers = append(s.Controllers, observe.Controller{Name: "shop/site", State: stateOff, Gone: observe.GoneSilent})
	m := modelOnQueue(t, &intervenableSource{fixedSource: &fixedSource{snapshot: s}}, "shop/site")
	if got := pressKeys(t, m, "x").View().Content; !strings.Contains(got, " Remove shop/site? Its process has ended or is suspended; ") {
		t.Errorf("x:\n%s", got)
	}
	if m = pressAndRun(t, m, "p"); !strings.Contains(m.message, "has ended or is suspended") {
		t.Errorf("p: %q", m.message)
	}
}

// An operator that runs can neither be stopped nor removed here.
func TestRunningOperator(t *testing.T) {
	s := idleSnapshot()
	s.Controllers = append(s.Controllers, observe.Controller{Name: "shop/site", State: stateRunning})
	m := pressKeys(t, modelOnQueue(t, &intervenableSource{fixedSource: &fixedSource{snapshot: s}}, "shop/site"), "x")
	if got := m.View().Content; m.confirming != nil || !strings.Contains(got, "shop/site runs in a process of its own: it cannot be stopped from here") || strings.Contains(got, " x ") {
		t.Errorf("got\n%s", got)
	}
}

// The title counts controllers, as the verb controllers lists them, not their queues.
func TestTitleCountsControllers(t *testing.T) {
	busy := func(queue string) row {
		return row{controller: "job-controller", name: queue, state: stateRunning, queue: &observe.Queue{Controller: "job-controller", Name: queue, Depth: 9, InFlight: 1}}
	}
	failed := func(queue string) row {
		return row{controller: "site-controller", name: queue, state: stateFailed, queue: &observe.Queue{Controller: "site-controller", Name: queue}}
	}
	rows := []row{busy("job"), busy("job_orphan_pod"), failed("site"), failed("page"), {controller: "shop/site", state: stateRunning}, {name: "nowhere", queue: &observe.Queue{Name: "nowhere"}}}
	if got := totalsOf(rows, false); got.shown != 4 || got.working != 1 || got.lately != 0 || got.failed != 1 {
		t.Errorf("%+v", got)
	}
}
