package clients

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

const configMaps = "/api/v1/configmaps"

// stateIn returns the state of the controller site in some time.
func (f *fixture) stateIn(d time.Duration) observe.ControllerChanged {
	f.Helper()
	for _, rc := range f.clients.sortedControllers() {
		if rc.shortName == "site" {
			rc.client.reports.mu.Lock()
			defer rc.client.reports.mu.Unlock()
			return rc.state(time.Now().Add(d))
		}
	}
	f.Fatal("the controller is not known")
	return observe.ControllerChanged{}
}

func (f *fixture) expectState(d time.Duration, state, reason string) {
	f.Helper()
	if is := f.stateIn(d); is.State != state || is.Reason != reason {
		f.Errorf("in %v: %q %q, want %q %q", d, is.State, is.Reason, state, reason)
	}
}

func (f *fixture) list(path string, status int) {
	f.Helper()
	answer := "{}"
	if status == http.StatusForbidden {
		answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"configmaps is forbidden: User \"u\" cannot list resource \"configmaps\" in API group \"\" at the cluster scope","code":403}`
	}
	f.send(call{http.MethodGet, path, operatorAgent, operator, nil, status, answer})
}

func siteIs(state string) QueueReport {
	q := siteQueue()
	q.State = state
	return q
}

// A controller whose cache cannot be filled says which list is refused, and is not free to work.
func TestStartingControllerSaysWhatIsRefused(t *testing.T) {
	f := newReportFixture(t)
	f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteIs(StateStarting)}})
	f.expectState(0, "building", "its workers have not started: its caches are not filled yet")
	f.list(configMaps, http.StatusForbidden)
	is := f.stateIn(0)
	if is.State != "building" || !strings.HasPrefix(is.Reason, "its workers have not started; list of configmaps is refused: ") || !strings.Contains(is.Reason, "cannot list") {
		t.Errorf("%q %q", is.State, is.Reason)
	}
	f.clients.Queues() // as before each snapshot of a control plane
	s := f.snapshot()
	if c := controllerNamed(s, "shop-operator/site"); c.State != "building" || c.Reason != is.Reason {
		t.Errorf("the snapshot has %q %q", c.State, c.Reason)
	}
	if q := f.clients.Queues()[0]; q.Workers != 0 {
		t.Errorf("%d workers", q.Workers)
	}
	f.expectState(2*refusedTime, "building", "its workers have not started: its caches are not filled yet")
	f.list(configMaps, http.StatusOK)
	f.expectState(0, "building", "its workers have not started: its caches are not filled yet")
	f.report(Report{Session: "s", Number: 2, Controllers: []QueueReport{siteIs("")}})
	f.expectState(0, "running", "")
}

// A client whose lists are refused again and again says so, whether it reports controllers or not. One that is
// refused a list now and then, as kubectl is, does not.
func TestClientSaysWhatIsRefused(t *testing.T) {
	f := newFixture(t)
	refused := func() string { return f.clients.Snapshot()[0].Refused }
	for range refusedOften - 1 {
		f.list(configMaps, http.StatusForbidden)
	}
	if got := refused(); got != "" {
		t.Errorf("after %d refusals: %q", refusedOften-1, got)
	}
	f.list(configMaps, http.StatusForbidden)
	if got := refused(); !strings.HasPrefix(got, "list of configmaps is refused: ") || !strings.Contains(got, "cannot list") {
		t.Errorf("got %q", got)
	}
	f.list(configMaps, http.StatusOK)
	if got := refused(); got != "" {
		t.Errorf("after a list: %q", got)
	}
	r, now := &refusedReads{}, time.Now()
	for i := range 2 * refusedOften {
		now = now.Add(2 * refusedTime)
		r.note(&observe.Called{Verb: "list", Object: observe.Object{Resource: "pods"}, Status: http.StatusForbidden}, now)
		if got := r.describe(time.Time{}, now, 2); got != "" {
			t.Errorf("after %d single refusals: %q", i+1, got)
		}
	}
}

// Refused reads of a command are not those of an informer, however often it is run: kubectl's, and those
// that try what another user may read.
func TestRefusedReadsOfCommandsDoNotCount(t *testing.T) {
	for name, c := range map[string]call{
		"kubectl":        {"GET", configMaps, kubectlAgent, admin, nil, http.StatusForbidden, "{}"},
		"another's user": {"GET", configMaps, operatorAgent, operator, map[string]string{"Impersonate-User": "alice"}, http.StatusForbidden, "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			for range refusedOften {
				f.send(c)
			}
			if got := f.clients.Snapshot()[0].Refused; got != "" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func controllerNamed(s observe.Snapshot, name string) observe.Controller {
	i := slices.IndexFunc(s.Controllers, func(c observe.Controller) bool { return c.Name == name })
	if i < 0 {
		return observe.Controller{}
	}
	return s.Controllers[i]
}

// A process whose watches have ended with its connection has probably been killed: that its
// controllers run is unknown, until it reports or is silent for long.
func TestKilledProcess(t *testing.T) { synctest.Test(t, testKilledProcess) }

func testKilledProcess(t *testing.T) {
	f := newReportFixture(t)
	f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue()}})
	_, end := f.watch(sites+"?watch=true", operatorAgent, operator)
	begin := ReportedBegin{ID: 1, Controller: "site", Key: "ns/pp", Time: time.Now()}
	f.report(Report{Session: "s", Number: 2, Controllers: []QueueReport{siteQueue()}, Records: []ReportedRecord{{Began: &begin}}})
	end()
	const lost = "its process has closed its connection without a last report; last heard of during the sync of ns/pp"
	f.expectState(0, "running", "") // it opens the watch again
	f.expectAwaited(0, true)        // or else its state becomes unknown
	f.expectAwaited(time.Second, false)
	f.expectState(time.Second, "unknown", lost)
	_, end = f.watch(sites+"?watch=true", operatorAgent, operator)
	f.expectState(time.Second, "running", "")
	f.expectAwaited(0, false)
	end()
	f.report(Report{Session: "s", Number: 3, Controllers: []QueueReport{siteQueue()}})
	f.expectState(time.Second, "running", "") // it has no watch, and lives
	f.expectAwaited(0, false)
	f.expectConnected(true)
	f.silence()
	f.expectState(0, "off", "its process does not report any more; last heard of during the sync of ns/pp")
	f.expectConnected(false)
}

// expectConnected checks whether the operator is shown as one that runs.
func (f *fixture) expectConnected(want bool) {
	f.Helper()
	if got := f.clients.Snapshot()[0].Connected; got != want {
		f.Errorf("connected: %v, want %v", got, want)
	}
}

// expectAwaited checks whether the next report of the operator will be awaited in some time.
func (f *fixture) expectAwaited(d time.Duration, want bool) {
	f.Helper()
	if got := f.clients.sorted()[0].reports.awaitsReport(time.Now().Add(d)); got != want {
		f.Errorf("in %v: awaited: %v, want %v", d, got, want)
	}
}

// A pause does not hide that the process has ended: nothing waits for what is held then.
func TestKilledProcessOfPausedController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNestedFixture(t)
		_, end := f.watch(sites+"?watch=true", operatorAgent, operator)
		f.pause(f.controller, nestedController)
		f.expectProcess(0, "")
		end()
		f.expectProcess(time.Second, observe.StateUnknown)
		f.silence()
		f.expectProcess(0, observe.StateOff)
		f.clients.Queues()
		if c := controllerNamed(f.snapshot(), nestedController); c.State != observe.StatePaused || c.ProcessState() != observe.StateOff {
			t.Errorf("the snapshot has %q and %q", c.State, c.Process)
		}
	})
}

// expectProcess checks that the controller site is paused, and the state that hides.
func (f *fixture) expectProcess(d time.Duration, process string) {
	f.Helper()
	if is := f.stateIn(d); is.State != observe.StatePaused || is.Process != process {
		f.Errorf("in %v: %q, process %q, want %q and %q", d, is.State, is.Process, observe.StatePaused, process)
	}
}

// How long ago a process was last heard of counts from its last report or request, not from when that
// was noticed.
func TestLastHeardOf(t *testing.T) {
	testutil.RequireFineClock(t)
	f := newReportFixture(t)
	since := func() time.Time { return controllerNamed(f.snapshot(), "shop-operator/site").Since }
	f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue()}})
	f.list(sites, http.StatusOK)
	heard := time.Now()
	f.clients.sorted()[0].reports.endSilent(heard.Add(sessionTimeout + time.Second))
	if state := controllerNamed(f.snapshot(), "shop-operator/site").State; state != "off" || since().After(heard) {
		t.Errorf("%s since %s, last heard of at %s", state, since(), heard)
	}
	f.report(Report{Session: "s", Number: 2, Controllers: []QueueReport{siteQueue()}})
	heard = time.Now()
	reports := &f.clients.sorted()[0].reports
	reports.mu.Lock()
	reports.sessions["s"].lost = heard
	reports.mu.Unlock()
	f.clients.Queues()
	if state := controllerNamed(f.snapshot(), "shop-operator/site").State; state != "unknown" || since().After(heard) {
		t.Errorf("%s since %s, last heard of at %s", state, since(), heard)
	}
}

// A watch that was refused has closed nothing.
func TestRefusedWatchClosesNothing(t *testing.T) {
	f := newReportFixture(t)
	f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue()}})
	for _, status := range []int{http.StatusForbidden, http.StatusNotFound} {
		f.send(call{http.MethodGet, configMaps + "?watch=true", operatorAgent, operator, nil, status, `{"kind":"Status"}`})
		f.expectState(10*time.Second, "running", "")
	}
}

// A process that sends a request after its last watch has ended lives.
func TestRequestAfterLastWatch(t *testing.T) {
	f := newReportFixture(t)
	f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue()}})
	_, end := f.watch(sites+"?watch=true", operatorAgent, operator)
	end()
	f.list(sites, http.StatusOK)
	f.expectState(time.Second, "running", "")
}

// The process that takes the place of a killed one counts at once.
func TestProcessAfterKilledOne(t *testing.T) {
	f := newReportFixture(t)
	f.report(Report{Session: "old", Number: 1, Controllers: []QueueReport{siteQueue()}})
	_, end := f.watch(sites+"?watch=true", operatorAgent, operator)
	end()
	reports := &f.clients.sorted()[0].reports
	reports.mu.Lock()
	reports.sessions["old"].lost = time.Now().Add(-time.Second)
	reports.mu.Unlock()
	f.report(Report{Session: "new", Number: 1, Controllers: []QueueReport{{Name: "site", Workers: 1, Adds: 1, Gets: 1}}})
	f.expectState(0, "running", "")
	if q := f.clients.Queues()[0]; q.Depth != 0 || q.InFlight != 0 || q.Adds != 4 {
		t.Errorf("the queue has the keys of the killed process: %+v", q)
	}
}

// A process that waits to be the leader does not run the controller, though its caches and its queue may be filled.
func TestStandby(t *testing.T) {
	f := newReportFixture(t)
	standby := siteIs(StateStandby)
	standby.InFlight, standby.Gets, standby.Delayed, standby.NextDue = 0, 0, 1, time.Now().Add(time.Hour)
	const waits = "its workers have not started: its process waits to be the leader"
	f.report(Report{Session: "second", Number: 1, Controllers: []QueueReport{standby}, Records: []ReportedRecord{siteEvent(1)}})
	f.expectState(0, "building", waits)
	if q := f.clients.Queues()[0]; q.Depth != 2 || q.Adds != 0 || len(q.Waiting) != 1 {
		t.Errorf("%+v: the keys that wait for a leader are not shown", q)
	}
	f.report(Report{Session: "leader", Number: 1, Controllers: []QueueReport{{Name: "site", Workers: 1, Adds: 2, Gets: 2, Done: 2}}})
	f.expectState(0, "running", "")
	if q := f.clients.Queues()[0]; q.Pending() != 0 || q.Delayed != 0 || len(q.Waiting) != 0 || q.Adds != 2 {
		t.Errorf("%+v: the keys of the process that waits are work", q)
	}
	f.report(Report{Session: "leader", Number: 2, Ended: true})
	f.report(Report{Session: "third", Number: 1, Controllers: []QueueReport{standby}}) // it has the same keys
	if q := f.clients.Queues()[0]; q.Depth != 2 || q.Adds != 2 {
		t.Errorf("%+v", q)
	}
	f.expectState(0, "building", waits)
	f.list(configMaps, http.StatusForbidden)
	f.expectState(0, "building", waits+"; list of configmaps is refused: configmaps is forbidden: User \"u\" cannot list resource \"configmaps\" in API group \"\" at the cluster scope")
}

// Of processes that wait to be the leader one counts: not one that was killed, and also while another one starts. The keys
// of one that has ended do not count, though it says that it stops. What was counted never becomes less.
func TestCountedStandby(t *testing.T) {
	f := newReportFixture(t)
	adds := int64(0)
	expect := func(when string, depth, atLeast int64) {
		t.Helper()
		q := f.clients.Queues()[0]
		if q.Depth != depth || q.Adds < max(adds, atLeast) {
			t.Errorf("%s: depth %d, %d adds after %d", when, q.Depth, q.Adds, adds)
		}
		adds = q.Adds
	}
	report := func(session string, number uint64, state string, depth, gets int64, ended bool) {
		t.Helper()
		f.report(Report{Session: session, Number: number, Ended: ended, Controllers: []QueueReport{{Name: "site", State: state, Depth: depth, Adds: depth + gets, Gets: gets, Done: gets}}})
	}
	report("killed", 1, StateStandby, 5, 0, false)
	expect("a standby", 5, 0)
	report("second", 1, StateStandby, 2, 0, false)
	expect("two of them", 5, 0)
	lose(f, "killed")
	expect("one was killed", 2, 0)
	report("third", 1, StateStarting, 0, 0, false)
	expect("one starts", 2, 0)
	report("third", 2, StateStandby, 2, 0, false)
	expect("two again", 2, 0)
	report("second", 2, "", 0, 2, false)
	expect("one works", 0, 2)
	report("second", 3, StateStopping, 0, 2, true)
	expect("it has ended", 2, 2)
	report("third", 3, StateStopping, 2, 0, false)
	expect("the other one stops", 2, 2)
	report("fourth", 1, "", 0, 1, false)
	expect("a new one works", 0, 3)
	report("third", 4, StateStopping, 2, 0, true)
	expect("the standby has ended", 0, 3)
	if adds != 3 {
		t.Errorf("%d adds, with those of processes that never worked", adds)
	}
}

// lose ends the connection of a process without a last report.
func lose(f *fixture, session string) {
	reports := &f.clients.sorted()[0].reports
	reports.mu.Lock()
	defer reports.mu.Unlock()
	reports.sessions[session].lost = time.Now().Add(-time.Second)
}

// An intervention does not begin another state of the process.
func TestSinceWhenAProcessWaits(t *testing.T) {
	f := newNestedFixture(t)
	f.report(Report{Session: "s", Number: 2, Controllers: []QueueReport{siteIs(StateStandby)}})
	since := controllerNamed(f.snapshot(), nestedController).Since
	f.pause(f.controller, nestedController)
	if c := controllerNamed(f.snapshot(), nestedController); c.State != observe.StatePaused || !c.Since.Equal(since) {
		t.Errorf("%s since %s, before since %s", c.State, c.Since, since)
	}
}

// A process that was killed has closed its connection, also once it has not reported for long.
func TestReasonOfALostProcess(t *testing.T) {
	f := newReportFixture(t)
	f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue()}})
	lose(f, "s")
	f.silence()
	f.expectState(0, "off", observe.GoneLost.Reason(nil))
}

// While a manager stops, its syncs go on: the process has not ended.
func TestStoppingProcess(t *testing.T) {
	f := newReportFixture(t)
	begin := ReportedBegin{ID: 1, Controller: "site", Key: "ns/hg", Time: time.Now()}
	f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteIs(StateStopping)}, Records: []ReportedRecord{{Began: &begin}}})
	f.expectState(0, "stopping", "its process is ending and waits for the sync of ns/hg")
	if c := controllerNamed(f.snapshot(), "shop-operator/site"); len(c.Running) != 1 || c.Running[0].Key != "ns/hg" {
		t.Errorf("%+v", c)
	}
}

// What a queue has counted goes on when the process is started again.
func TestCountsGoOnAfterRestart(t *testing.T) {
	f := newReportFixture(t)
	numbers := QueueReport{Name: "site", Adds: 10, Gets: 9, Done: 8, Retries: 3}
	f.report(Report{Session: "old", Number: 1, Controllers: []QueueReport{numbers}})
	f.report(Report{Session: "old", Number: 2, Controllers: []QueueReport{numbers}, Ended: true})
	f.report(Report{Session: "new", Number: 1, Controllers: []QueueReport{{Name: "site", Adds: 2, Gets: 2, Done: 1, Retries: 1}}})
	if q := f.clients.Queues()[0]; q.Adds != 12 || q.Gets != 11 || q.Done != 9 || q.Retries != 4 {
		t.Errorf("%+v", q)
	}
}

// PROGRAM/CONTROLLER is the controller of the user whose process runs.
func TestNameOfEndedControllerIsFree(t *testing.T) {
	f := newReportFixture(t)
	send := func(who *user.DefaultInfo, r Report) {
		t.Helper()
		r.Version, r.Sent = WireVersion, time.Now()
		if status, text := f.post(who, operatorAgent, encodeReport(t, r)); status != http.StatusOK {
			t.Fatal(status, text)
		}
	}
	names := func() (list []string) {
		for _, c := range f.clients.Controllers() {
			list = append(list, c.Name+" "+c.State)
		}
		return list
	}
	send(operator, Report{Session: "a", Number: 1, Controllers: []QueueReport{siteQueue()}})
	send(admin, Report{Session: "b", Number: 1, Controllers: []QueueReport{siteQueue()}})
	if got := names(); !slices.Equal(got, []string{"shop-operator (admin)/site running", "shop-operator/site running"}) {
		t.Errorf("both run: %q", got)
	}
	send(admin, Report{Session: "b", Number: 2, Ended: true})
	i := f.clients.ControllerInterventions(&ownControllers{}, func(string) bool { return false })
	if got, err := i.Clear(t.Context(), []string{"site"}); err != nil {
		t.Errorf("the only one that runs: %q, %v", got, err)
	}
	send(operator, Report{Session: "a", Number: 2, Ended: true})
	other := &user.DefaultInfo{Name: "other"}
	send(other, Report{Session: "c", Number: 1, Controllers: []QueueReport{siteQueue()}})
	if got := names(); !slices.Equal(got, []string{"shop-operator (admin)/site off", "shop-operator/site running"}) {
		t.Errorf("one runs: %q", got)
	}
	if c := f.clientNamed("shop-operator (other)"); !slices.Equal(c.Controllers, []string{"shop-operator/site"}) {
		t.Errorf("%q", c.Controllers)
	}
	if got, err := f.clients.Interventions().Pause(t.Context(), []string{"shop-operator"}); err != nil || !slices.Equal(got, []string{"shop-operator (other)"}) {
		t.Errorf("paused: %q, %v", got, err)
	}
	if _, err := f.clients.Interventions().Resume(t.Context(), []string{"shop-operator"}); err != nil {
		t.Error(err)
	}
	if _, err := i.Pause(t.Context(), []string{"shop-operator"}); err != nil {
		t.Error(err)
	}
	if got := names(); got[1] != "shop-operator/site paused" {
		t.Errorf("after the pause: %q", got)
	}
}

// The name of a controller is its own from the moment that its first report is taken.
func TestNewControllerKeepsItsName(t *testing.T) {
	f := newReportFixture(t)
	req := httptest.NewRequestWithContext(f.Context(), http.MethodPost, reportsPath, nil)
	req.Header.Set("User-Agent", operatorAgent)
	cl, _ := f.clients.clientOf(req, operator)
	q := siteQueue()
	r := &Report{Session: "a", Number: 1, Controllers: []QueueReport{q}}
	s, isNew := cl.reports.accept(r, "c", time.Now(), &f.clients.sessions)
	if !isNew || !f.clients.connectNew(cl, s, "shop-operator", &q, time.Now()) {
		t.Fatal("the report was not taken")
	}
	other := Report{Version: WireVersion, Session: "b", Number: 1, Sent: time.Now(), Controllers: []QueueReport{q}}
	if status, text := f.post(admin, operatorAgent, encodeReport(t, other)); status != http.StatusOK {
		t.Fatal(status, text)
	}
	for i, want := range []string{"shop-operator (admin)/site", "shop-operator/site"} {
		if list := f.clients.Controllers(); len(list) != 2 || list[i].Name != want || list[i].State != "running" {
			t.Errorf("%+v", list)
		}
	}
}

// The sync of a killed process is not that of the process that takes the name of its controller.
func TestSyncOfKilledProcessIsForgottenWithItsName(t *testing.T) {
	f := newReportFixture(t)
	begin := ReportedBegin{ID: 1, Controller: "site", Key: "ns/pp", Time: time.Now()}
	f.report(Report{Session: "killed", Number: 1, Controllers: []QueueReport{siteQueue()}, Records: []ReportedRecord{{Began: &begin}}})
	reports := &f.clients.sorted()[0].reports
	reports.mu.Lock()
	reports.sessions["killed"].lost = time.Now().Add(-time.Second)
	reports.mu.Unlock()
	f.expectState(0, "unknown", "its process has closed its connection without a last report; last heard of during the sync of ns/pp")
	other := Report{Version: WireVersion, Session: "new", Number: 1, Sent: time.Now(), Controllers: []QueueReport{{Name: "site", Workers: 1}}}
	if status, text := f.post(admin, operatorAgent, encodeReport(t, other)); status != http.StatusOK {
		t.Fatal(status, text)
	}
	if c := controllerNamed(f.snapshot(), "shop-operator/site"); c.State != "running" || len(c.Running) != 0 {
		t.Errorf("%+v", c)
	}
}

// An event that a client is sent may set off work that its next report tells: until then, and for a short
// time at most, the control plane is not settled.
func TestEventsAwaitAReport(t *testing.T) { synctest.Test(t, testEventsAwaitAReport) }

func testEventsAwaitAReport(t *testing.T) {
	f := newReportFixture(t)
	o := observe.New(observe.Options{Clients: f.clients.Snapshot, Process: func() observe.Process { return observe.Process{State: observe.Ready} }})
	defer f.observer.Close()
	defer o.Close()
	busy := func() bool {
		s, _ := o.Snapshot(t.Context())
		return len(s.Process.Busy) > 0
	}
	number := uint64(0)
	report := func(state string) {
		number++
		f.report(Report{Session: "s", Number: number, Controllers: []QueueReport{siteIs(state)}})
	}
	send, end := f.watch(sites+"?watch=1", operatorAgent, operator)
	defer end()
	event := func() {
		time.Sleep(time.Second)
		send(frame("MODIFIED", object("Site", "shop", "u1", "7")))
	}
	for _, step := range []struct {
		name  string
		do    func()
		after time.Duration
		want  bool
	}{
		{"an event without reports", event, 0, false},
		{"the first report", func() { time.Sleep(2 * handlingTime); report("") }, 0, false},
		{"an event", event, 15 * time.Millisecond, true},
		{"a report since", func() { report("") }, 0, false},
		{"another event", event, 0, true},
		{"a report that may have been made before the event was handled", func() { report("") }, 0, true},
		{"no report", func() {}, 2 * maxReportDelay, false},
		{"a bookmark", func() { send(`{"type":"BOOKMARK","object":{"kind":"Site","metadata":{"resourceVersion":"9"}}}` + "\n") }, 0, false},
		{"an event while the workers have not started", func() { report(StateStarting); event() }, 0, false},
	} {
		step.do()
		time.Sleep(step.after)
		if got := busy(); got != step.want {
			t.Errorf("after %s: busy is %v, want %v", step.name, got, step.want)
		}
	}
}
