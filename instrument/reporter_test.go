package instrument

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Another server that answers 200 or redirects gets one empty report.
func TestServerThatIsNotCtrlplane(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	for name, h := range map[string]http.Handler{
		"200":      http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		"redirect": http.RedirectHandler(p.url+reportPath, http.StatusTemporaryRedirect),
	} {
		s := httptest.NewServer(h)
		r := newOperator(t, s.URL).reporter()
		r.append(record{Event: &eventRecord{ID: 1}})
		if err := r.send(t.Context(), false); err != nil || !r.isOff() || r.known || p.asked != 0 {
			t.Errorf("%s: %v, state %d, asked %d", name, err, r.state.Load(), p.asked)
		}
		s.Close()
	}
}

// Once the server is known, a report that it refuses is dropped and counted, and one that
// is sent again has the time of that attempt.
func TestRefusedReport(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	r := newOperator(t, p.url).reporter()
	r.append(record{Event: &eventRecord{ID: 1}})
	if err := r.send(t.Context(), false); err != nil || !r.isOn() || len(p.reports) != 2 || len(p.reports[0].Records) != 0 || len(p.reports[1].Records) != 1 {
		t.Fatalf("%v: %+v", err, p.reports)
	}
	p.setStatus(http.StatusUnauthorized)
	r.append(record{Event: &eventRecord{ID: 2}})
	if err := r.send(t.Context(), false); err == nil || !r.isOn() {
		t.Errorf("%v, state %d", err, r.state.Load())
	}
	p.setStatus(http.StatusServiceUnavailable)
	r.append(record{Event: &eventRecord{ID: 3}})
	if err := r.send(t.Context(), false); err == nil {
		t.Error("no error")
	}
	again := time.Now()
	p.setStatus(http.StatusOK)
	if err := r.send(t.Context(), false); err != nil {
		t.Error(err)
	}
	if v := p.reports[2]; v.Dropped != 1 || len(v.Records) != 1 || v.Records[0].Event.ID != 3 || v.Sent.Before(again.Round(0)) {
		t.Errorf("%+v", v)
	}
}

// Events that name many adds are sent in several reports: the control plane refuses one
// with too many.
func TestLargeReportIsSplit(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	r := newOperator(t, p.url).reporter()
	const events = 40
	for range events {
		r.append(record{Event: &eventRecord{ID: 1, Adds: make([]uint64, maxNamedAdds), Later: make([]time.Time, maxNamedLater)}})
	}
	if err := r.send(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, v := range p.reports {
		if n := len(v.Records); n*(1+maxNamedAdds+maxNamedLater) > maxSentItems {
			t.Errorf("a report has %d records", n)
		}
		total += len(v.Records)
	}
	if total != events {
		t.Errorf("%d of %d records were sent", total, events)
	}
}

// What was noted before it is known that the server is another one is forgotten.
func TestTurnOffForgets(t *testing.T) {
	o := newOperator(t, "http://localhost:1")
	o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
	o.addControllerOfStrings()
	r := o.reporter()
	k := r.controllers[0].keys
	k.add(requestFor("now"), work{}, 0, false)
	k.add(requestFor("later"), work{}, time.Hour, false)
	r.append(record{Event: &eventRecord{ID: 1}})
	r.turnOff()
	if n := len(r.records) + len(r.unlogged) + len(k.queued) + len(k.delayed.of); n != 0 {
		t.Errorf("%d records, errors and keys are kept", n)
	}
}

type roundTripper func(*http.Request) *http.Response

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req), nil }

// A report that is refused for the moment is sent again after the time that the answer names.
func TestReportIsSentAgainAfterRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []struct {
			status     int
			retryAfter string
			waits      time.Duration
		}{
			{http.StatusServiceUnavailable, "3", 3 * time.Second},
			{http.StatusTooManyRequests, "1", time.Second},
			{http.StatusTooManyRequests, "3600", maxBackoff},
			{http.StatusServiceUnavailable, "", 800 * time.Millisecond},
			{http.StatusServiceUnavailable, "soon", 1600 * time.Millisecond},
			{http.StatusOK, "", 0}, // the next report follows
			{http.StatusOK, "", 0},
		}
		last, asked := time.Now(), 0
		server := roundTripper(func(*http.Request) *http.Response {
			if asked > 0 {
				if waited := time.Since(last); waited != answers[asked-1].waits {
					t.Errorf("after %+v the reporter waits for %v", answers[asked-1], waited)
				}
			}
			a := answers[asked]
			asked, last = asked+1, time.Now()
			return &http.Response{StatusCode: a.status, Header: http.Header{"Retry-After": {a.retryAfter}, answerHeader: {"1"}}, Body: http.NoBody}
		})
		r, err := newReporter(&rest.Config{Host: "x"}, &http.Client{Transport: server}, logr.Discard())
		if err != nil {
			t.Fatal(err)
		}
		r.known = true
		if !r.run(t.Context()) || asked != len(answers) {
			t.Errorf("%d of %d answers were asked for", asked, len(answers))
		}
	})
}
