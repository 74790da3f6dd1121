package clients

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// The answer to a write is read however long it is: it is not compressed.
func TestLongAnswersToWrites(t *testing.T) {
	f := newFixture(t)
	answer := strings.TrimSuffix(object("Site", "shop", "u", "7", "o"), "}") + `,"spec":{"x":"` + strings.Repeat("x", 200<<10) + `"}}`
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		req := httptest.NewRequestWithContext(t.Context(), method, sites, strings.NewReader("{}"))
		req.Header.Set("User-Agent", kubectlAgent)
		req.Header.Set("Accept-Encoding", "gzip")
		f.clients.Handle(httptest.NewRecorder(), req, admin, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			out := io.Writer(w)
			compressed := req.Header.Get("Accept-Encoding") != ""
			if compressed != (method == http.MethodGet) {
				t.Errorf("%s is answered with compression: %v", method, compressed)
			}
			if compressed {
				w.Header().Set("Content-Encoding", "gzip")
				zip := gzip.NewWriter(w)
				defer zip.Close()
				out = zip
			}
			io.WriteString(out, answer)
		}))
	}
	calls, _ := f.records()
	if c := calls[0]; c.Object.Name != "shop" || c.Object.UID != "u" || c.ResourceVersion != "7" {
		t.Errorf("%+v", c)
	}
}

// What webhooks did to a write is recorded, except of a conflict, which they do not cause. One that was ignored matters if the write
// was admitted.
func TestWebhooksOfAnsweredWrites(t *testing.T) {
	f := newFixture(t)
	want := map[int]int{http.StatusCreated: 2, http.StatusForbidden: 1, http.StatusConflict: 0}
	for status := range want {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, sites, strings.NewReader("{}"))
		req.Header.Set("User-Agent", kubectlAgent)
		f.clients.Handle(httptest.NewRecorder(), req, admin, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			observe.NoteWebhook(observe.Webhook{Name: "i.example.com", Outcome: observe.WebhookIgnored})
			observe.NoteWebhook(observe.Webhook{Name: "m.example.com", Outcome: observe.WebhookChanged})
			w.WriteHeader(status)
		}))
	}
	calls, _ := f.records()
	if len(calls) != len(want) {
		t.Fatalf("%d calls", len(calls))
	}
	for _, c := range calls {
		if len(c.Webhooks) != want[c.Status] {
			t.Errorf("%d: %+v", c.Status, c.Webhooks)
		}
	}
}

// A handler that returns without an answer has answered 200, unless it was aborted.
func TestHandlerWithoutAnswer(t *testing.T) {
	f := newFixture(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, test := range []struct {
		ctx    context.Context
		panics bool
		status int
		error  string
	}{
		{t.Context(), false, http.StatusOK, ""},
		{gone, false, 0, "the client went away before it was answered"},
		{t.Context(), true, 0, "the API server closed the connection without an answer"},
	} {
		req := httptest.NewRequestWithContext(test.ctx, http.MethodPut, sites+"/x", strings.NewReader("{}"))
		func() {
			defer func() {
				if recovered := recover(); (recovered != nil) != test.panics {
					t.Errorf("recovered %v", recovered)
				}
			}()
			f.clients.Handle(httptest.NewRecorder(), req, admin, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				if test.panics {
					panic(http.ErrAbortHandler)
				}
			}))
		}()
		calls, _ := f.records()
		if c := calls[len(calls)-1]; c.Status != test.status || c.Error != test.error {
			t.Errorf("%d %q, want %d %q", c.Status, c.Error, test.status, test.error)
		}
	}
	if c := f.clients.Snapshot()[0]; c.InFlight != 0 || c.Writing != 0 {
		t.Errorf("%+v", c)
	}
}

// A watch or a log that the client has ended is not an error of the client, though upstream answers it with one. A list or a get is: the
// client may have ended it at its own time limit.
func TestClientEndsARead(t *testing.T) {
	for name, tc := range map[string]struct {
		path     string
		ends     error // nil if the client waits for the answer
		status   int   // of the answer; 0 for none
		canceled bool
	}{
		"a log":        {"/api/v1/namespaces/ns/pods/web/log", context.Canceled, http.StatusInternalServerError, true},
		"a watch":      {sites + "?watch=1", context.Canceled, http.StatusInternalServerError, true},
		"no answer":    {sites + "?watch=1", context.Canceled, 0, true},
		"a slow list":  {sites, context.Canceled, http.StatusInternalServerError, false},
		"a slow get":   {sites + "/x", context.Canceled, 0, false},
		"it waits":     {sites, nil, http.StatusInternalServerError, false},
		"it is late":   {sites, context.DeadlineExceeded, http.StatusGatewayTimeout, false},
		"at the stop":  {sites, http.ErrServerClosed, 0, false},
		"it has begun": {"/api/v1/namespaces/ns/pods/web/log", context.Canceled, http.StatusOK, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			ctx, end := context.WithCancelCause(t.Context())
			req := httptest.NewRequestWithContext(ctx, http.MethodGet, tc.path, http.NoBody)
			f.clients.Handle(httptest.NewRecorder(), req, admin, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tc.ends != nil {
					end(tc.ends)
				}
				if tc.status != 0 {
					w.WriteHeader(tc.status)
					io.WriteString(w, `{"kind":"Status","status":"Failure","message":"context canceled"}`)
				}
			}))
			end(nil)
			calls, _ := f.records()
			errorsOf := f.clients.Snapshot()[0].Errors
			wantErrors, wantStatus := int64(0), tc.status
			if tc.canceled {
				wantStatus = 0
			} else if tc.status != http.StatusOK {
				wantErrors = 1
			}
			if c := calls[0]; c.Canceled != tc.canceled || c.Status != wantStatus || (c.Error != "") != (tc.status != http.StatusOK) || errorsOf != wantErrors {
				t.Errorf("%d errors, recorded is %+v", errorsOf, c)
			}
		})
	}
}

// A client closes its connection while the storage writes for it: its call is recorded once it is known what was
// written. Until then it is unfinished work.
func TestClientGoesDuringAWrite(t *testing.T) {
	f := newFixture(t)
	gone, leave := context.WithCancel(t.Context())
	release, ended := make(chan struct{}), make(chan struct{})
	x := observe.Written{Resource: "sites.example.com", Namespace: "ns", Name: "x", ResourceVersion: "7"}
	req := httptest.NewRequestWithContext(gone, http.MethodPut, sites+"/x", strings.NewReader("{}"))
	f.clients.Handle(httptest.NewRecorder(), req, admin, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		began := make(chan struct{})
		go func() { // as upstream does
			defer close(ended)
			write := observe.BeginWrite()
			defer write.End()
			close(began)
			<-release
			write.Stored(x)
		}()
		<-began
		leave()
		w.WriteHeader(http.StatusGatewayTimeout)
	}))
	calls, _ := f.records()
	if c := f.clients.Snapshot()[0]; len(calls) > 0 || c.InFlight != 0 || c.Writing != 1 {
		t.Errorf("during the write: recorded %v of %+v", calls, c)
	}
	close(release)
	<-ended
	calls, _ = f.records()
	if len(calls) != 1 || calls[0].Status != http.StatusGatewayTimeout || !slices.Equal(calls[0].Wrote, []observe.Written{x}) {
		t.Errorf("after the write: recorded %+v", calls)
	}
	if c := f.clients.Snapshot()[0]; c.Writing != 0 || c.Last.Wrote != nil { // others may read that one during the write
		t.Errorf("after the write: %+v", c)
	}
}

// What the API server warns of is recorded with a write, in bounds, and not of a Secret.
func TestWarningsOfAnsweredWrites(t *testing.T) {
	f := newFixture(t)
	const secrets = "/api/v1/namespaces/default/secrets"
	const unknown = `299 - "unknown field \"status.extra\""`
	for _, test := range []struct {
		method, path string
		headers      []string
		want         []string
	}{
		{http.MethodPut, sites + "/shop", []string{unknown}, []string{`unknown field "status.extra"`}},
		{http.MethodPut, sites + "/shop", nil, nil},
		{http.MethodPut, sites + "/shop", []string{"not a warning"}, nil},
		{http.MethodPost, sites, slices.Repeat([]string{`299 - "` + strings.Repeat("x", 1000) + `"`}, 10), append(slices.Repeat([]string{strings.Repeat("x", 197) + "…"}, 3), "7 more warnings")},
		{http.MethodGet, sites + "/shop", []string{unknown}, nil},
		{http.MethodPost, secrets, []string{unknown}, nil},
	} {
		req := httptest.NewRequestWithContext(t.Context(), test.method, test.path, strings.NewReader("{}"))
		req.Header.Set("User-Agent", kubectlAgent)
		f.clients.Handle(httptest.NewRecorder(), req, admin, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for _, h := range test.headers {
				w.Header().Add("Warning", h)
			}
			w.WriteHeader(http.StatusOK)
		}))
		calls, _ := f.records()
		if got := calls[len(calls)-1].Warnings; !slices.Equal(got, test.want) {
			t.Errorf("%s %s: %q", test.method, test.path, got)
		}
	}
}
