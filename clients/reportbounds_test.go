package clients

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A report that names very many elements in few bytes is refused before they take memory.
func TestMemoryOfLongLists(t *testing.T) {
	f := newReportFixture(t)
	for name, list := range map[string][2]string{
		"controllers": {`"controllers":[{}`, `,{}`},
		"records":     {`"records":[{}`, `,{}`},
		"waiting":     {`"controllers":[{"name":"site","waiting":[1`, `,1`},
		"adds":        {`"records":[{"event":{"adds":[1`, `,1`},
		"later":       {`"records":[{"event":{"later":[null`, `,null`},
	} {
		body := `{"version":1,"session":"s","number":1,` + list[0]
		body += strings.Repeat(list[1], (maxReport-len(body)-8)/len(list[1]))
		for _, end := range map[string]string{"controllers": "]}", "records": "]}", "waiting": "]}]}", "adds": "]}}]}", "later": "]}}]}"}[name] {
			body += string(end)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status, text := f.post(operator, operatorAgent, []byte(body))
		runtime.ReadMemStats(&after)
		if status != http.StatusBadRequest || !strings.Contains(text, "at most") {
			t.Errorf("%s: %d %s", name, status, text)
		}
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 20 {
			t.Errorf("%s: %d MiB for a body of %d", name, mib, maxReport>>20)
		}
	}
}

// slowBody is a body that arrives when goOn is closed.
type slowBody struct {
	io.Reader
	reading *atomic.Int32
	goOn    chan struct{}
}

func (b slowBody) Read(p []byte) (int, error) {
	b.reading.Add(1)
	defer b.reading.Add(-1)
	<-b.goOn
	return b.Reader.Read(p)
}

// slowReports sends reports that arrive when arrive is called.
type slowReports struct {
	*fixture
	goOn    chan struct{}
	reading atomic.Int32
	answers [600]atomic.Int32 // by status
}

func newSlowReports(t *testing.T) *slowReports {
	return &slowReports{fixture: newReportFixture(t), goOn: make(chan struct{})}
}

func (s *slowReports) arrive() { close(s.goOn) }

func (s *slowReports) send(program string) {
	body := encodeReport(s.T, Report{Version: WireVersion, Session: "s"})
	go func() {
		req := httptest.NewRequestWithContext(s.Context(), http.MethodPost, reportsPath, slowBody{bytes.NewReader(body), &s.reading, s.goOn})
		req.Header.Set("User-Agent", program)
		w := httptest.NewRecorder()
		s.clients.Handle(w, req, operator, nil)
		s.answers[w.Code].Add(1)
		if isRefused := w.Code != http.StatusOK; isRefused != (w.Header().Get("Retry-After") == "1") {
			s.Errorf("%d with Retry-After %q", w.Code, w.Header().Get("Retry-After"))
		}
	}()
}

// A report that arrives slowly delays no other client, and the next ones of its own client for a
// moment only.
func TestSlowReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowReports(t)
		defer s.observer.Close()
		const all = 3 * maxBodiesAtOnce
		for range all {
			s.send("slow")
		}
		synctest.Wait()
		if n := s.reading.Load(); n != 1 {
			t.Errorf("%d reports of a client are read at once", n)
		}
		began := time.Now()
		s.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue()}})
		if took := time.Since(began); took != 0 {
			t.Errorf("another client waits for %v", took)
		}
		time.Sleep(maxReportWait)
		synctest.Wait()
		if n := s.answers[http.StatusTooManyRequests].Load(); n != all-1 {
			t.Errorf("%d of %d reports were refused", n, all)
		}
		s.arrive()
		synctest.Wait()
		if n := s.answers[http.StatusOK].Load(); n != 1 {
			t.Errorf("%d reports were taken", n)
		}
		if c := s.clientNamed("slow (" + operator.Name + ")"); c.ReportsRefused != all-1 {
			t.Errorf("%d refused reports are counted", c.ReportsRefused)
		}
	})
}

// A report that does not arrive in time is to be sent again.
func TestReportThatDoesNotArrive(t *testing.T) {
	f := newReportFixture(t)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, reportsPath, iotest.ErrReader(os.ErrDeadlineExceeded))
	w := httptest.NewRecorder()
	f.clients.Handle(w, req, operator, nil)
	if w.Code != http.StatusRequestTimeout {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// deadlineNoter is a response that notes the deadline of its request.
type deadlineNoter struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (d *deadlineNoter) SetReadDeadline(at time.Time) error { d.deadline = at; return nil }

// A report that is refused unread does not hold its connection: net/http reads its body before it sends the answer.
func TestRefusedReportsHaveADeadline(t *testing.T) {
	for name, tc := range map[string]struct {
		method string
		who    user.Info
		code   int
	}{
		"without authentication": {http.MethodPost, nil, http.StatusUnauthorized},
		"another method":         {http.MethodPut, operator, http.StatusMethodNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newReportFixture(t)
				w := &deadlineNoter{ResponseRecorder: httptest.NewRecorder()}
				f.clients.Handle(w, httptest.NewRequestWithContext(t.Context(), tc.method, reportsPath, strings.NewReader("{}")), tc.who, nil)
				if got := time.Until(w.deadline); w.Code != tc.code || got != maxReportTime {
					t.Errorf("got %d, and %v for the body", w.Code, got)
				}
			})
		})
	}
}

// Reports of one client that arrive in time are taken one after the other.
func TestReportsOfAClientAreTakenInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowReports(t)
		defer s.observer.Close()
		const all = 20
		for range all {
			s.send("one")
		}
		synctest.Wait()
		s.arrive()
		synctest.Wait()
		if n := s.answers[http.StatusOK].Load(); n != all {
			t.Errorf("%d of %d reports were taken", n, all)
		}
	})
}

// Only some reports at once take memory, however many clients send one.
func TestReportsOfManyClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowReports(t)
		defer s.observer.Close()
		const all = maxBodiesAtOnce + 9
		for n := range all {
			s.send(fmt.Sprint("p", n))
		}
		synctest.Wait()
		if n := s.reading.Load(); n != maxBodiesAtOnce {
			t.Errorf("%d reports are read at once", n)
		}
		time.Sleep(maxReportWait)
		synctest.Wait()
		if n := s.answers[http.StatusServiceUnavailable].Load(); n != all-maxBodiesAtOnce {
			t.Errorf("%d reports were refused", n)
		}
		s.arrive()
		synctest.Wait()
		if n := s.answers[http.StatusOK].Load(); n != maxBodiesAtOnce {
			t.Errorf("%d reports were taken", n)
		}
	})
}

// Of too many controllers the first are taken, and the others counted.
func TestTooManyControllers(t *testing.T) {
	f := newReportFixture(t)
	var list []QueueReport
	for i := range maxControllers + 3 {
		list = append(list, QueueReport{Name: fmt.Sprintf("c%02d", i)})
	}
	f.report(Report{Session: "s", Number: 1, Controllers: list})
	c := f.clientNamed("shop-operator (" + operator.Name + ")")
	if len(c.Controllers) != maxControllers || c.Controllers[0] != "shop-operator/c00" || c.Controllers[63] != "shop-operator/c63" || c.ControllersLeftOut != 3 {
		t.Errorf("%q, %d left out", c.Controllers, c.ControllersLeftOut)
	}
	f.report(Report{Session: "s", Number: 2, Controllers: list[:2], Ended: true})
	if c = f.clientNamed(c.Name); c.ControllersLeftOut != 0 {
		t.Errorf("%d left out after the end of the process", c.ControllersLeftOut)
	}
}

// The controllers of processes that have ended make room, those with an intervention last.
func TestEndedControllersMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newReportFixture(t)
		defer f.observer.Close()
		run := func(name string, ends bool) {
			f.report(Report{Session: name, Number: 1, Controllers: []QueueReport{{Name: name, Workers: 1}}})
			if ends {
				f.report(Report{Session: name, Number: 2, Ended: true})
			}
			time.Sleep(time.Second)
		}
		run("paused", true)
		i := f.clients.ControllerInterventions(&ownControllers{}, func(string) bool { return false })
		if _, err := i.Pause(t.Context(), []string{"paused"}); err != nil {
			t.Fatal(err)
		}
		run("runs", false)
		for n := range maxControllers {
			f.report(Report{Session: "runs", Number: uint64(n + 2), Controllers: []QueueReport{{Name: "runs", Workers: 1}}})
			run(fmt.Sprint("ended-", n), true)
		}
		run("live", false)
		names := f.clientNamed("shop-operator (" + operator.Name + ")").Controllers
		for _, name := range []string{"paused", "runs", "live", "ended-63"} {
			if !slices.Contains(names, "shop-operator/"+name) {
				t.Errorf("%s is not known", name)
			}
		}
		if len(names) != maxControllers || slices.Contains(names, "shop-operator/ended-0") || len(f.clients.sortedControllers()) != maxControllers {
			t.Errorf("%d controllers: %q", len(names), names)
		}
		if c := controllerNamed(f.snapshot(), "shop-operator/ended-0"); c.Name != "" {
			t.Errorf("what has made room is in the snapshot: %+v", c)
		}
	})
}

// The controllers of one client make room for those of others.
func TestEndedControllersOfOthersMakeRoom(t *testing.T) {
	f := newReportFixture(t)
	for n := range maxAllControllers / maxControllers {
		r := Report{Version: WireVersion, Session: fmt.Sprint(n), Number: 1, Sent: time.Now(), Ended: true}
		for i := range maxControllers {
			r.Controllers = append(r.Controllers, QueueReport{Name: fmt.Sprint("c", i)})
		}
		if status, text := f.post(operator, fmt.Sprintf("p%d/1", n), encodeReport(t, r)); status != http.StatusOK {
			t.Fatal(status, text)
		}
	}
	f.report(Report{Session: "live", Number: 1, Controllers: []QueueReport{siteQueue()}})
	f.expectState(0, "running", "")
	if n := len(f.clients.sortedControllers()); n != maxAllControllers {
		t.Errorf("%d controllers", n)
	}
}

// endedControllers reports controllers of processes that end, a second apart.
func (f *fixture) endedControllers(names ...string) {
	f.Helper()
	for _, name := range names {
		f.report(Report{Session: name, Number: 1, Controllers: []QueueReport{{Name: name, Workers: 1, Adds: 7, Gets: 7}}, Ended: true})
		time.Sleep(time.Second)
	}
}

func numberedNames(prefix string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("%s-%02d", prefix, i))
	}
	return list
}

// A controller of a report makes no room for another one of it.
func TestReportKeepsItsOwnControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newReportFixture(t)
		defer f.observer.Close()
		f.endedControllers(append([]string{"oldest"}, numberedNames("ended", maxControllers-1)...)...)
		f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{{Name: "new", Workers: 1}, {Name: "oldest", Workers: 1, Adds: 1, Gets: 1}}})
		c := f.clientNamed("shop-operator (" + operator.Name + ")")
		for name, want := range map[string]bool{"new": true, "oldest": true, "ended-00": false, "ended-01": true} {
			if slices.Contains(c.Controllers, "shop-operator/"+name) != want {
				t.Errorf("%s is known: %v", name, !want)
			}
		}
		if len(c.Controllers) != maxControllers || c.ControllersLeftOut != 0 {
			t.Errorf("%d controllers, %d left out", len(c.Controllers), c.ControllersLeftOut)
		}
		queues := f.clients.Queues()
		i := slices.IndexFunc(queues, func(q observe.Queue) bool { return q.Name == "oldest" })
		if i < 0 || queues[i].Adds != 8 {
			t.Errorf("the counters of the oldest are lost: %+v", queues)
		}
	})
}

// A process that sends a report again, because the answer was lost, is connected.
func TestRepeatedReportConnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newReportFixture(t)
		defer f.observer.Close()
		f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue()}})
		f.silence()
		f.expectState(0, "off", "its process does not report any more")
		time.Sleep(time.Second)
		f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue()}})
		f.expectState(0, "running", "")
		f.endedControllers(numberedNames("ended", maxControllers)...)
		f.expectState(0, "running", "")
	})
}

// A controller that takes over the name of one that has ended needs no room.
func TestTakenNameNeedsNoRoom(t *testing.T) {
	f := newReportFixture(t)
	send := func(who user.Info, agent string, controllers ...string) {
		r := Report{Version: WireVersion, Session: agent, Number: 1, Sent: time.Now(), Ended: who == operator}
		for _, name := range controllers {
			r.Controllers = append(r.Controllers, QueueReport{Name: name, Workers: 1})
		}
		if status, text := f.post(who, agent, encodeReport(t, r)); status != http.StatusOK {
			t.Fatal(status, text)
		}
	}
	names := func() (list []string) {
		for _, c := range f.clients.sortedControllers() {
			list = append(list, c.name)
		}
		return list
	}
	for n := range maxAllControllers / maxControllers {
		send(operator, fmt.Sprintf("p%d/1", n), numberedNames("c", maxControllers)...)
	}
	before := names()
	send(admin, "p3/1", "c-63")
	if after := names(); len(before) != maxAllControllers || !slices.Equal(before, after) {
		t.Errorf("%d controllers before, %d after", len(before), len(after))
	}
	if c := f.clientNamed("p3 (admin)"); !slices.Equal(c.Controllers, []string{"p3/c-63"}) {
		t.Errorf("%q", c.Controllers)
	}
}

// What is reported cannot make a sum negative.
func TestReportedNumbersDoNotOverflow(t *testing.T) {
	f := newReportFixture(t)
	q := QueueReport{Name: "site", Workers: math.MaxInt, Depth: math.MaxInt64, InFlight: math.MaxInt64, Delayed: math.MaxInt64, Adds: math.MaxInt64, Gets: math.MaxInt64, Done: math.MaxInt64, Retries: math.MaxInt64}
	for _, session := range []string{"a", "b", "ended"} {
		f.report(Report{Session: session, Number: 1, Controllers: []QueueReport{q}, Dropped: math.MaxInt64, Ended: session == "ended"})
	}
	v, c := f.clients.Queues()[0], f.clientNamed("shop-operator ("+operator.Name+")")
	sum := int64(0)
	for _, n := range []int64{v.Depth, v.InFlight, v.Delayed, v.Adds, v.Gets, v.Done, v.Retries, int64(v.Workers), c.ReportsDropped} {
		if n <= 0 || sum+n < sum {
			t.Errorf("%d: %+v, %d dropped", n, v, c.ReportsDropped)
		}
		sum += n
	}
}
