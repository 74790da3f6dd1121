package reconciler

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/clients"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
)

// answeredReports answers reports with the statuses, and then with 200.
func answeredReports(t *testing.T, statuses ...int) (*reporter, *[]clients.Report) {
	t.Helper()
	var got []clients.Report
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var r clients.Report
		if err := json.NewDecoder(req.Body).Decode(&r); err != nil || req.URL.Path != controlrest.ReportsPath {
			t.Errorf("%s: %v", req.URL.Path, err)
		}
		got = append(got, r)
		if len(statuses) >= len(got) {
			w.WriteHeader(statuses[len(got)-1])
		}
	}))
	t.Cleanup(server.Close)
	r, err := newReporter(&rest.Config{Host: server.URL}, "site", newKeys(), func() int { return 3 })
	if err != nil {
		t.Fatal(err)
	}
	return r, &got
}

// What is not taken is sent again, with the same number and the same records.
func TestReportIsSentAgain(t *testing.T) {
	r, got := answeredReports(t, http.StatusServiceUnavailable, http.StatusTooManyRequests)
	r.keys.add(&clients.ReportedEvent{Change: "added", Controller: "site"}, "a/b")
	for i, want := range []bool{false, false, true} {
		if taken, err := r.send(t.Context()); taken != want || (err == nil) != want {
			t.Errorf("attempt %d: taken %t, %v", i+1, taken, err)
		}
	}
	for _, v := range *got {
		if v.Number != 1 || v.Session != r.session || len(v.Records) != 1 || v.Controllers[0].Name != "site" || v.Controllers[0].Depth != 3 {
			t.Errorf("got %+v", v)
		}
	}
}

// A report that is refused for good is dropped, so that it does not keep the next ones.
func TestRefusedReportIsDropped(t *testing.T) {
	r, got := answeredReports(t, http.StatusBadRequest)
	r.keys.add(&clients.ReportedEvent{Change: "added", Controller: "site"}, "a/b")
	if taken, err := r.send(t.Context()); !taken || err == nil {
		t.Errorf("taken %t, %v", taken, err)
	}
	r.end(t.Context())
	if last := (*got)[len(*got)-1]; len(*got) != 2 || last.Number != 2 || len(last.Records) != 0 || !last.Ended {
		t.Errorf("got %d reports, the last is %+v", len(*got), last)
	}
}

// Records that do not fit into one report are sent before the process ends: only the last report says so.
func TestEndSendsAllRecords(t *testing.T) {
	for name, tc := range map[string]struct {
		records  int
		statuses []int
		want     []int // records in each report
	}{
		"none":               {0, nil, []int{0}},
		"one report":         {maxSent, nil, []int{maxSent}},
		"several":            {2*maxSent + 1, nil, []int{maxSent, maxSent, 1}},
		"after an old one":   {maxSent + 1, []int{http.StatusServiceUnavailable}, []int{maxSent, maxSent, 1}},
		"one is refused":     {2 * maxSent, []int{http.StatusOK, http.StatusBadRequest}, []int{maxSent, maxSent}},
		"it does not answer": {maxSent + 1, []int{http.StatusServiceUnavailable, http.StatusServiceUnavailable}, []int{maxSent, maxSent}},
	} {
		t.Run(name, func(t *testing.T) {
			r, got := answeredReports(t, tc.statuses...)
			for range tc.records {
				r.keys.add(&clients.ReportedEvent{Change: "added", Controller: "site"}, "a/b")
			}
			if len(tc.statuses) > 0 {
				_, _ = r.send(t.Context())
			}
			r.end(t.Context())
			var sent []int
			for _, v := range *got {
				sent = append(sent, len(v.Records))
			}
			if !slices.Equal(sent, tc.want) {
				t.Fatalf("reports with %d records, want %d", sent, tc.want)
			}
			for i, v := range *got {
				if last := i == len(*got)-1; v.Ended != (last && name != "it does not answer") {
					t.Errorf("report %d of %d: ended %t", i+1, len(*got), v.Ended)
				}
			}
		})
	}
}

type roundTripper func(*http.Request) *http.Response

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req), nil }

// A report that is refused for the moment is sent again after the time that the answer names.
func TestReportIsSentAgainAfterRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Time
		header := http.Header{"Retry-After": {"3"}}
		server := roundTripper(func(*http.Request) *http.Response {
			asked = append(asked, time.Now())
			status := http.StatusOK
			if len(asked) == 1 {
				status = http.StatusServiceUnavailable
			}
			return &http.Response{StatusCode: status, Header: header, Body: http.NoBody}
		})
		r, err := newReporter(&rest.Config{Host: "x", Transport: server}, "site", newKeys(), func() int { return 3 })
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		r.wakeUp()
		r.run(ctx)
		if len(asked) < 2 {
			t.Fatal("the report is not sent again")
		}
		if waited := asked[1].Sub(asked[0]); waited < 3*time.Second {
			t.Errorf("the report is sent again after %v", waited)
		}
	})
}
