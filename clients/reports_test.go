package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

const reportsPath = "/ctrlplane/v1/reports"

// newReportFixture is a fixture that takes reports.
func newReportFixture(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.clients.config.ReportsPath = reportsPath
	return f
}

// post sends the body of a report and returns the status and the text of the answer.
func (f *fixture) post(who user.Info, agent string, body []byte) (int, string) {
	f.Helper()
	req := httptest.NewRequestWithContext(f.Context(), http.MethodPost, reportsPath, bytes.NewReader(body))
	req.Header.Set("User-Agent", agent)
	req.RemoteAddr = agent
	w := httptest.NewRecorder()
	f.clients.Handle(w, req, who, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { f.Error("a report was passed on") }))
	if w.Header().Get(AnswerHeader) != "1" {
		f.Error("the answer does not say that it is ctrlplane's")
	}
	return w.Code, strings.TrimSpace(w.Body.String())
}

// report sends a report of the operator.
func (f *fixture) report(r Report) {
	f.Helper()
	r.Version, r.Sent = WireVersion, time.Now()
	if status, text := f.post(operator, operatorAgent, encodeReport(f.T, r)); status != http.StatusOK {
		f.Fatalf("%d %s", status, text)
	}
}

func encodeReport(t *testing.T, r Report) []byte {
	t.Helper()
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func (f *fixture) snapshot() observe.Snapshot {
	f.Helper()
	s, err := f.observer.Snapshot(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return s
}

func siteQueue() QueueReport {
	return QueueReport{Name: "site", Workers: 1, Depth: 2, InFlight: 1, Adds: 3, Gets: 1, Waiting: []uint64{1, 99}}
}

func siteEvent(id uint64) ReportedRecord {
	return ReportedRecord{Event: &ReportedEvent{
		ID: id, Controller: "site", Time: time.Now(), Change: "added", Group: "example.com", Resource: "sites", Kind: "Site",
		Namespace: "ns", Name: "shop", UID: "u1", ResourceVersion: "7", Adds: []uint64{1},
	}}
}

// A sync is recorded with its cause and its calls, which are known before the sync is.
func TestReportedSync(t *testing.T) {
	f := newReportFixture(t)
	f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue()}})
	f.send(call{http.MethodPost, deployments, operatorAgent, operator, map[string]string{SyncHeader: "s/site/4"}, 201, object("Deployment", "shop", "u2", "8")})
	begin := ReportedBegin{ID: 4, Controller: "site", Key: "ns/shop", Time: time.Now()}
	f.report(Report{Session: "s", Number: 2, Controllers: []QueueReport{siteQueue()}, Records: []ReportedRecord{siteEvent(1), {Began: &begin}}})
	s := f.snapshot()
	i := slices.IndexFunc(s.Controllers, func(c observe.Controller) bool { return c.Name == "shop-operator/site" })
	if i < 0 {
		t.Fatalf("%+v", s.Controllers)
	}
	if c := s.Controllers[i]; c.State != "running" || len(c.Running) != 1 || c.Running[0].Key != "ns/shop" || c.Changes != 1 || c.Delivered != 1 || !slices.Equal(c.Watches, []string{"sites.example.com"}) {
		t.Errorf("%+v", c)
	}
	queues := f.clients.Queues()
	if len(queues) != 1 || queues[0].Controller != "shop-operator/site" || queues[0].Name != "site" || queues[0].Depth != 2 || queues[0].Outside ||
		len(queues[0].Waiting) != 1 || queues[0].Waiting[0].Name != "shop" {
		t.Errorf("%+v", queues)
	}
	if name := "shop-operator (" + operator.Name + ")"; !f.clients.HasQueue(name, "site") || f.clients.HasQueue(name, "page") || f.clients.HasQueue("curl (x)", "site") {
		t.Error("whether the metrics of a process tell anything new is not known")
	}
	end := &ReportedEnd{ReportedBegin: begin, Took: time.Millisecond, Waited: time.Microsecond, Add: 1, Event: 1, Requeued: true, Due: time.Now().Add(time.Minute), Error: "no luck"}
	f.report(Report{Session: "s", Number: 3, Controllers: []QueueReport{siteQueue()}, Records: []ReportedRecord{{Ended: end}}})
	f.report(Report{Session: "s", Number: 3, Controllers: []QueueReport{siteQueue()}, Records: []ReportedRecord{{Ended: end}}}) // again: the answer was lost
	next := &ReportedEnd{ReportedBegin: ReportedBegin{ID: 5, Controller: "site", Key: "ns/shop", Time: time.Now()}, Add: 2, Sync: 4, Unsure: true}
	f.report(Report{Session: "s", Number: 4, Dropped: 9, Controllers: []QueueReport{siteQueue()}, Records: []ReportedRecord{{Ended: next}}})
	calls, events := f.records()
	syncs := f.syncs()
	if len(calls) != 1 || len(events) != 1 || len(syncs) != 2 {
		t.Fatalf("%d calls, %d events, %d syncs", len(calls), len(events), len(syncs))
	}
	first, second := syncs[0].Event.(*observe.Synced), syncs[1].Event.(*observe.Synced)
	if calls[0].Controller != "shop-operator/site" || calls[0].Sync != first.ID || calls[0].Cause != 0 || calls[0].Client == nil {
		t.Errorf("the call: %+v", calls[0])
	}
	if first.Key != "ns/shop" || first.KeyBasis != observe.BasisQueue || !first.Sure || first.Cause == 0 || first.Writes != 1 || first.Error != "no luck" || !first.Retried || first.Due.IsZero() {
		t.Errorf("the first sync: %+v", first)
	}
	if second.CauseSync != first.ID || second.Sure || second.Cause != 0 {
		t.Errorf("the second sync: %+v", second)
	}
	if c := f.clientNamed("shop-operator (" + operator.Name + ")"); c.ReportsDropped != 9 || !slices.Equal(c.Controllers, []string{"shop-operator/site"}) {
		t.Errorf("%+v", c)
	}
	f.report(Report{Session: "s", Number: 5, Ended: true})
	if list := f.clients.Controllers(); len(list) != 1 || list[0].State != "off" || list[0].Reason != "its process has ended" || len(f.clients.Queues()) != 0 {
		t.Errorf("after the end: %+v", list)
	}
}

func (f *fixture) syncs() []observe.Record {
	f.Helper()
	page, err := f.observer.Records(f.Context(), observe.Query{Kinds: []observe.Kind{observe.KindSynced}})
	if err != nil {
		f.Fatal(err)
	}
	return page.Records
}

func (f *fixture) clientNamed(name string) observe.Client {
	f.Helper()
	for _, c := range f.clients.Snapshot() {
		if c.Name == name {
			return c
		}
	}
	f.Fatalf("no client %q", name)
	return observe.Client{}
}

// Reports are for clients that say who they are, and have bounds.
func TestReportsAreRefused(t *testing.T) {
	f := newReportFixture(t)
	encode := func(r Report) []byte {
		if r.Version == 0 {
			r.Version = WireVersion
		}
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	many := make([]QueueReport, maxReportControllers+1)
	manyAdds := slices.Repeat([]ReportedRecord{{Event: &ReportedEvent{ID: 1, Adds: make([]uint64, maxEventAdds-1)}}}, 33)
	for name, test := range map[string]struct {
		who    user.Info
		body   []byte
		status int
		says   string
	}{
		"anonymous":         {&user.DefaultInfo{Name: user.Anonymous}, encode(Report{Session: "s"}), 401, "authenticated clients"},
		"not authenticated": {nil, encode(Report{Session: "s"}), 401, "authenticated clients"},
		"no JSON":           {operator, []byte("hello"), 400, "report: invalid character"},
		"too long":          {operator, []byte(`{"session":"` + strings.Repeat("x", maxReport) + `"}`), 400, "too large"},
		"other version":     {operator, encode(Report{Session: "s", Version: 7}), 400, "version 7: this control plane understands version 1"},
		"no session":        {operator, encode(Report{}), 400, "session of 0 bytes"},
		"long session":      {operator, encode(Report{Session: strings.Repeat("x", 65)}), 400, "session of 65 bytes"},
		"many controllers":  {operator, encode(Report{Session: "s", Controllers: many}), 400, "more than 1024 controllers"},
		"no name":           {operator, encode(Report{Session: "s", Controllers: many[:1]}), 400, "of a controller"},
		"control character": {operator, encode(Report{Session: "s", Controllers: []QueueReport{{Name: "a\x1b[2J"}}}), 400, "of a controller"},
		"many waiting":      {operator, encode(Report{Session: "s", Controllers: []QueueReport{{Name: "a", Waiting: make([]uint64, MaxReportWaiting+1)}}}), 400, "11 waiting keys"},
		"many adds":         {operator, encode(Report{Session: "s", Records: []ReportedRecord{{Event: &ReportedEvent{ID: 1, Adds: make([]uint64, maxEventAdds+1)}}}}), 400, "257 adds"},
		"many later":        {operator, encode(Report{Session: "s", Records: []ReportedRecord{{}, {Event: &ReportedEvent{ID: 1, Later: make([]time.Time, maxEventLater+1)}}}}), 400, "65 later"},
		"many in all":       {operator, encode(Report{Session: "s", Records: manyAdds}), 400, "8448 records, adds and later ones"},
		"many records":      {operator, encode(Report{Session: "s", Records: make([]ReportedRecord, maxReportRecords+1)}), 400, "more than 4096 records"},
	} {
		t.Run(name, func(t *testing.T) {
			if status, text := f.post(test.who, operatorAgent, test.body); status != test.status || !strings.Contains(text, test.says) || strings.Contains(text, "\n") {
				t.Errorf("%d %s", status, text)
			}
		})
	}
	if list := f.clients.Controllers(); len(list) != 0 {
		t.Errorf("controllers: %+v", list)
	}
}

// What a hostile program reports stays within bounds, and does not break anything.
func TestHostileReports(t *testing.T) {
	f := newReportFixture(t)
	var wg sync.WaitGroup
	for n := range 9 {
		who := &user.DefaultInfo{Name: fmt.Sprintf("u%d", n)}
		wg.Go(func() {
			for i := range 9 {
				r := Report{Version: WireVersion, Session: fmt.Sprint(i), Number: 1, Dropped: -4}
				for c := range maxControllers {
					r.Controllers = append(r.Controllers, QueueReport{Name: fmt.Sprintf("c%d", c), Depth: -5, Workers: -1, NextDue: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), Waiting: []uint64{0, 1, 1 << 63}})
				}
				for s := range 12 {
					r.Records = append(r.Records,
						ReportedRecord{}, ReportedRecord{Event: &ReportedEvent{Controller: "c0", Change: "nonsense"}}, ReportedRecord{Event: &ReportedEvent{Controller: "unknown"}},
						ReportedRecord{Event: &ReportedEvent{ID: uint64(s + 1), Controller: "c0", Change: "added", Name: strings.Repeat("\x1b\n", 500), Took: -1}},
						ReportedRecord{Began: &ReportedBegin{Controller: "c1", ID: uint64(i*12 + s), Key: strings.Repeat("k\n", 600), Time: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}},
						ReportedRecord{Ended: &ReportedEnd{ReportedBegin: ReportedBegin{Controller: "c2", ID: uint64(s)}, Took: 1 << 62, Waited: -9, Sync: uint64(s), Event: 5, Requeued: true, Due: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), Error: strings.Repeat("e", 5000)}})
				}
				body, err := json.Marshal(r)
				if err != nil {
					t.Error(err)
				}
				if status, text := f.post(who, operatorAgent, body); status != http.StatusOK && status != http.StatusTooManyRequests {
					t.Errorf("%d %s", status, text)
				}
				f.clients.Queues()
			}
		})
	}
	wg.Wait()
	if n := len(f.clients.Controllers()); n > maxAllControllers {
		t.Errorf("%d controllers", n)
	}
	if n := f.clients.sessions.Load(); n > maxAllSessions {
		t.Errorf("%d sessions", n)
	}
	if _, err := json.Marshal(f.snapshot()); err != nil {
		t.Error(err)
	}
	if _, err := json.Marshal(f.clients.Queues()); err != nil {
		t.Error(err)
	}
	for _, r := range f.syncs() {
		if _, err := json.Marshal(r); err != nil {
			t.Fatal(err)
		}
		if s := r.Event.(*observe.Synced); len(s.Key) > maxKey || len(s.Error) > recording.MaxRefusal || s.CauseSync == s.ID || s.Took > maxAge || s.Waited < 0 || r.Time.After(time.Now()) {
			t.Fatalf("%+v", s)
		}
	}
	for _, header := range []string{"", "/", "//", "0/c0/x", "0/c0/18446744073709551616", "0//1", "no/c0/1"} {
		if _, s := f.clients.sorted()[0].reports.senderOf(header); s != nil {
			t.Errorf("header %q is of sync %+v", header, s)
		}
	}
}

// A write that names a sync of another client is recorded with it.
func TestUnknownSync(t *testing.T) {
	f := newReportFixture(t)
	f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue()}})
	for _, agent := range []string{operatorAgent, "other/1"} {
		f.send(call{http.MethodPost, deployments, agent, operator, map[string]string{SyncHeader: "s/site/4"}, 201, object("Deployment", "shop", "u2", "8")})
	}
	calls, _ := f.records()
	if len(calls) != 2 || calls[0].UnknownSync != "" || calls[0].Sync == 0 || calls[1].UnknownSync != "s/site/4" || calls[1].Sync != 0 {
		t.Errorf("recorded are %+v", calls)
	}
}

// A list that is repeated in a report does not keep the memory of the first one.
func TestRepeatedList(t *testing.T) {
	f := newReportFixture(t)
	many := "[1" + strings.Repeat(",1", MaxReportWaiting-1) + "]"
	body := `{"version":1,"session":"s","number":1,"controllers":[{"name":"site","waiting":` + many + `,"waiting":[1]}]}`
	if status, text := f.post(operator, operatorAgent, []byte(body)); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	if list := f.clients.sorted()[0].reports.sessions["s"].queues["site"].Waiting; len(list) != 1 || cap(list) > MaxReportWaiting {
		t.Errorf("%d waiting keys, and room for %d", len(list), cap(list))
	}
}

func TestReportRate(t *testing.T) { synctest.Test(t, testReportRate) }

func testReportRate(t *testing.T) {
	f := newReportFixture(t)
	body, err := json.Marshal(Report{Version: WireVersion, Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for range 3 * maxReportsPerSecond {
		if status, _ := f.post(operator, operatorAgent, body); status == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused != 2*maxReportsPerSecond {
		t.Errorf("%d reports were refused, want %d", refused, 2*maxReportsPerSecond)
	}
	if c := f.clients.Snapshot()[0]; c.ReportsRefused != int64(refused) {
		t.Errorf("%d refused reports are counted, not %d", c.ReportsRefused, refused)
	}
}

// The report of a process too many is refused and counted, and taken once another has ended.
func TestTooManyProcesses(t *testing.T) {
	f := newReportFixture(t)
	for i := range maxSessions {
		f.report(Report{Session: fmt.Sprint(i), Number: 1, Controllers: []QueueReport{siteQueue()}})
	}
	body, err := json.Marshal(Report{Version: WireVersion, Session: "s", Number: 1, Sent: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if status, text := f.post(operator, operatorAgent, body); status != http.StatusTooManyRequests || !strings.Contains(text, "at most 8 of a client and 64 in all") {
		t.Errorf("%d %s", status, text)
	}
	if c := f.clients.Snapshot()[0]; c.ReportsRefused != 1 {
		t.Errorf("%+v", c)
	}
	f.report(Report{Session: "0", Number: 2, Ended: true})
	if status, text := f.post(operator, operatorAgent, body); status != http.StatusOK {
		t.Errorf("after the end of another: %d %s", status, text)
	}
	f.silence()
	f.report(Report{Session: "new", Number: 1, Controllers: []QueueReport{siteQueue()}})
	if n := f.clients.sessions.Load(); n != maxSessions {
		t.Errorf("after a silent one has made room: %d sessions", n)
	}
}

// Silent processes of one client make room for those of another.
func TestSilentProcessesOfOthersMakeRoom(t *testing.T) {
	f := newReportFixture(t)
	send := func(name string, session int) int {
		r := Report{Version: WireVersion, Session: fmt.Sprint(session), Number: 1, Sent: time.Now(), Controllers: []QueueReport{siteQueue()}}
		body, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		status, _ := f.post(&user.DefaultInfo{Name: name}, operatorAgent, body)
		return status
	}
	for n := range maxAllSessions {
		if status := send(fmt.Sprint("u", n/maxSessions), n); status != http.StatusOK {
			t.Fatal(n, status)
		}
	}
	if status := send("other", 0); status != http.StatusTooManyRequests {
		t.Errorf("the process too many: %d", status)
	}
	f.silence()
	if status := send("other", 0); status != http.StatusOK {
		t.Errorf("after others are silent: %d", status)
	}
	if n := f.clients.sessions.Load(); n != maxAllSessions {
		t.Errorf("%d sessions", n)
	}
}

// silence ends the reports of all processes that are silent.
func (f *fixture) silence() {
	f.Helper()
	for _, cl := range f.clients.sorted() {
		cl.reports.endSilent(time.Now().Add(sessionTimeout + time.Second))
	}
}

// A process that is silent for some time is gone, and known again when it reports: a
// debugger may have stopped it in a sync.
func TestSilentProcess(t *testing.T) {
	f := newReportFixture(t)
	begin := ReportedBegin{ID: 1, Controller: "site", Key: "ns/shop", Time: time.Now()}
	f.report(Report{Session: "s", Number: 7, Dropped: 5, Controllers: []QueueReport{siteQueue()}, Records: []ReportedRecord{{Began: &begin}}})
	write := func() {
		f.send(call{http.MethodPost, deployments, operatorAgent, operator, map[string]string{SyncHeader: "s/site/1"}, 201, object("Deployment", "shop", "u2", "8")})
	}
	write()
	f.silence()
	if list := f.clients.Controllers(); list[0].State != "off" || list[0].Reason != "its process does not report any more; last heard of during the sync of ns/shop" {
		t.Errorf("%+v", list)
	}
	if c := f.snapshot().Controllers[0]; len(c.Running) != 0 || len(f.clients.Queues()) != 0 {
		t.Errorf("%+v", c)
	}
	all := []string{control.All}
	if removed, err := f.clients.ControllerInterventions(&ownControllers{}, func(string) bool { return false }).Remove(f.Context(), all); err != nil || len(removed) > 0 {
		t.Errorf("it may go on: removed %q, %v", removed, err)
	}
	write()
	f.report(Report{Session: "s", Number: 8, Dropped: 5, Controllers: []QueueReport{siteQueue()}})
	if q := f.clients.Queues(); len(q) != 1 || q[0].Resumed != 1 {
		t.Errorf("it is not known that its counts are those of the silence: %+v", q)
	}
	if c := f.snapshot().Controllers[0]; len(c.Running) != 1 || c.Running[0].Key != "ns/shop" || c.Running[0].Since.After(begin.Time) {
		t.Errorf("the sync is not known any more: %+v", c.Running)
	}
	end := &ReportedEnd{ReportedBegin: begin, Took: time.Second}
	f.report(Report{Session: "s", Number: 9, Dropped: 5, Controllers: []QueueReport{siteQueue()}, Records: []ReportedRecord{{Ended: end}}})
	if list := f.clients.Controllers(); list[0].State != "running" {
		t.Errorf("%+v", list)
	}
	calls, _ := f.records()
	sync := f.syncs()[0].Event.(*observe.Synced)
	if len(calls) != 2 || calls[0].Sync != sync.ID || calls[1].Sync != sync.ID || sync.Writes != 2 {
		t.Errorf("calls %+v of sync %+v", calls, sync)
	}
	if c := f.clients.Snapshot()[0]; c.ReportsDropped != 5 {
		t.Errorf("%d dropped records are counted", c.ReportsDropped)
	}
}

// The writes of a paused controller are held though its process has not reported for long,
// or has ended.
func TestPauseOfSilentProcess(t *testing.T) {
	for reason, lose := range map[string]func(*nestedFixture){
		"its process does not report any more": func(f *nestedFixture) { f.silence() },
		"its process has ended":                func(f *nestedFixture) { f.report(Report{Session: "s", Number: 2, Ended: true}) },
	} {
		t.Run(reason, func(t *testing.T) {
			f := newNestedFixture(t)
			f.pause(f.controller, nestedController)
			lose(f)
			if c := f.clients.Controllers()[0]; c.State != "paused" || c.Reason != "its writes are held, "+reason {
				t.Errorf("%+v", c)
			}
			done := f.write()
			f.awaitHeld(f.controller, nestedController)
			if _, err := f.controller.Resume(t.Context(), []string{nestedController}); err != nil {
				t.Fatal(err)
			}
			<-done
		})
	}
}

// A paused controller whose process has ended stays paused, however many clients come.
func TestPausedControllerIsNotForgotten(t *testing.T) {
	f := newNestedFixture(t)
	f.pause(f.controller, nestedController)
	f.report(Report{Session: "s", Number: 2, Ended: true})
	for i := range 2 * maxClients {
		f.send(call{"GET", sites, fmt.Sprintf("program-%d/1", i), admin, nil, 200, "{}"})
	}
	if list := f.clients.Controllers(); len(list) != 1 || list[0].State != "paused" {
		t.Errorf("%+v", list)
	}
}

// ownControllers are interventions in controllers of this process.
type ownControllers struct {
	control.Intervener
	paused []string
}

func (o *ownControllers) Change(_ context.Context, names []string, c control.Change) ([]string, error) {
	switch c.Verb {
	case control.Remove:
		return nil, usage.Errorf("controller %q is of this process", names)
	case control.Pause:
	default:
		return nil, errors.New("not expected: " + c.Verb)
	}
	if slices.Contains(names, "unknown") {
		return nil, usage.Errorf("unknown controller")
	}
	o.paused = append(o.paused, names...)
	return names, nil
}

// The writes of a reported controller are held when it is paused, those of others of the
// same program are not.
func TestPauseReportedController(t *testing.T) {
	f := newReportFixture(t)
	f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue(), {Name: "page"}, {Name: "job"}}})
	own := &ownControllers{}
	i := f.clients.ControllerInterventions(own, func(name string) bool { return name == "job" || name == "replicaset" })
	for _, names := range [][]string{{"site", "unknown"}, {"shop-operator/sit", "site"}} {
		if _, err := i.Pause(f.Context(), names); !errors.As(err, new(usage.Error)) || f.clients.Controllers()[2].State != "running" {
			t.Errorf("%q: %v", names, err)
		}
	}
	names, err := i.Pause(f.Context(), []string{"site", "shop-operator/site", "replicaset", "job"})
	if err != nil || !slices.Equal(names, []string{"replicaset", "job", "shop-operator/site"}) || !slices.Equal(own.paused, []string{"replicaset", "job"}) {
		t.Fatalf("%q, %v; own: %q", names, err, own.paused)
	}
	write := func(controller string) {
		f.send(call{http.MethodPost, deployments, operatorAgent, operator, map[string]string{SyncHeader: "s/" + controller + "/1"}, 201, object("Deployment", controller, "u2", "8")})
	}
	write("page")
	done := make(chan struct{})
	go func() { defer close(done); write("site") }()
	step, err := i.Step(f.Context(), "site")
	if err != nil || step == nil || step.Status != 201 {
		t.Fatalf("%+v, %v", step, err)
	}
	<-done
	if list := f.clients.Controllers(); list[2].State != "paused" || list[1].State != "running" {
		t.Errorf("%+v", list)
	}
	if list, err := i.HeldWrites(f.Context(), "site", 5); err != nil || !list.Paused || list.Total != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if names, err := i.Delay(f.Context(), []string{"site"}, -1); err == nil {
		t.Errorf("delayed: %q", names)
	}
	if _, err := i.Scale(f.Context(), []string{"site"}, 2); !errors.As(err, new(usage.Error)) || !strings.Contains(err.Error(), "another process") {
		t.Error(err)
	}
}

// A controller whose process has ended is in all lists until it is removed, with what is set on it.
func TestRemoveEndedController(t *testing.T) {
	f := newReportFixture(t)
	f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue(), {Name: "page"}}})
	i := f.clients.ControllerInterventions(&ownControllers{}, func(name string) bool { return name == "job" })
	refused := func(names ...string) {
		t.Helper()
		if removed, err := i.Remove(f.Context(), names); !errors.As(err, new(usage.Error)) || len(removed) > 0 || len(f.clients.Controllers()) != 2 {
			t.Errorf("%q: removed %q, %v", names, removed, err)
		}
	}
	refused("shop-operator/site") // its process runs
	if removed, err := i.Remove(f.Context(), []string{control.All}); err != nil || len(removed) > 0 {
		t.Errorf("all, while it runs: %q, %v", removed, err)
	}
	if _, err := i.Pause(f.Context(), []string{"page"}); err != nil {
		t.Fatal(err)
	}
	f.report(Report{Session: "s", Number: 2, Ended: true})
	refused("site", "job")
	refused("site", "shop-operator/sit")
	if removed, err := i.Remove(f.Context(), []string{"page"}); err != nil || !slices.Equal(removed, []string{"shop-operator/page"}) {
		t.Errorf("%q, %v", removed, err)
	}
	if removed, err := i.Remove(f.Context(), []string{control.All}); err != nil || !slices.Equal(removed, []string{"shop-operator/site"}) {
		t.Errorf("%q, %v", removed, err)
	}
	if s, list := f.snapshot(), f.clients.Snapshot(); len(s.Controllers) > 0 || len(s.Queues) > 0 || len(list[0].Controllers) > 0 || len(f.clients.Controllers()) > 0 {
		t.Errorf("after the removal: %+v, %+v, %+v", s.Controllers, s.Queues, list)
	}
	f.report(Report{Session: "new", Number: 1, Controllers: []QueueReport{{Name: "page"}}})
	if list := f.clients.Controllers(); len(list) != 1 || list[0].State != "running" || list[0].Reason != "" {
		t.Errorf("of the next process: %+v", list)
	}
}

// A client may make room for another one while its report is taken.
func TestForgottenClientKeepsNoSession(t *testing.T) {
	f := newReportFixture(t)
	req := httptest.NewRequestWithContext(f.Context(), http.MethodPost, reportsPath, nil)
	req.Header.Set("User-Agent", operatorAgent)
	r := &Report{Session: "s", Number: 1, Sent: time.Now(), Controllers: []QueueReport{siteQueue()}}
	forgotten, _ := f.clients.clientOf(req, operator)
	f.clients.mu.Lock()
	f.clients.evictIdle()
	f.clients.mu.Unlock()
	if f.clients.apply(forgotten, "shop-operator", "c", r) || f.clients.sessions.Load() != 0 {
		t.Errorf("the forgotten client has %d sessions", f.clients.sessions.Load())
	}
	again, _ := f.clients.clientOf(req, operator)
	if !f.clients.apply(again, "shop-operator", "c", r) || f.clients.sessions.Load() != 1 {
		t.Errorf("the next report finds %d sessions, want its own", f.clients.sessions.Load())
	}
}

// The last report of a process is taken once, too, if it is sent again.
func TestLastReportIsTakenOnce(t *testing.T) {
	f := newReportFixture(t)
	begin := ReportedBegin{ID: 4, Controller: "site", Key: "ns/shop", Time: time.Now()}
	last := Report{Session: "s", Number: 2, Dropped: 5, Controllers: []QueueReport{siteQueue()}, Records: []ReportedRecord{siteEvent(1), {Ended: &ReportedEnd{ReportedBegin: begin, Add: 1, Event: 1}}}, Ended: true}
	f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue()}})
	for range 3 {
		f.report(last)
	}
	f.report(Report{Session: "next", Number: 1, Controllers: []QueueReport{siteQueue()}})
	_, events := f.records()
	if syncs := f.syncs(); len(events) != 1 || len(syncs) != 1 {
		t.Errorf("%d events, %d syncs", len(events), len(syncs))
	}
	if queues := f.clients.Queues(); len(queues) != 1 || queues[0].Adds != 2*siteQueue().Adds {
		t.Errorf("%+v", queues)
	}
	if c := f.clientNamed("shop-operator (" + operator.Name + ")"); c.ReportsDropped != 5 {
		t.Errorf("%d records were dropped", c.ReportsDropped)
	}
}
