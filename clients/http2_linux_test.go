package clients

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/peer"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// A client may open a connection over HTTP/2 for each request, as Node's library 2.0 does. What its process has received over one
// is the cause of what it writes over another one.
func TestCausesOfConnectionsForEachRequest(t *testing.T) {
	testutil.NeedSocketDiag(t)
	f := newFixture(t)
	f.clients.processOf = func(req *http.Request) *peer.Process { // which is found in time, however busy the machine is
		p, found := peer.Find(req), make(chan struct{})
		p.WhenDone(func() { close(found) })
		<-found
		return p
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.ProtoMajor != 2 {
			t.Errorf("%s %s over %s", req.Method, req.URL, req.Proto)
		}
		f.clients.Handle(w, req, operator, http.HandlerFunc(serveOneSite))
	}))
	s.Listener, s.EnableHTTP2 = peer.Listen(s.Listener), true
	s.StartTLS()
	defer s.Close()
	send := func(method, path, body string) io.ReadCloser {
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("User-Agent", operatorAgent)
		req.Header.Set("Content-Type", "application/json")
		one := s.Client().Transport.(*http.Transport).Clone()
		t.Cleanup(one.CloseIdleConnections)
		resp, err := one.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Body
	}
	finish := func(body io.ReadCloser) {
		if _, err := io.Copy(io.Discard, body); err != nil {
			t.Error(err)
		}
		body.Close()
	}
	finish(send(http.MethodGet, sites, ""))
	watch := send(http.MethodGet, sites+"?watch=1&resourceVersion=5", "")
	defer watch.Close()
	if _, err := bufio.NewReader(watch).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	finish(send(http.MethodPost, deployments, owned("Deployment", "web", "", "")))
	finish(send(http.MethodPatch, sites+"/shop/status", "{}"))
	if got, want := f.causes(""), []string{siteAdded, siteAdded}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// serveOneSite serves an empty list of Sites, to which one is added then, and a Deployment of it.
func serveOneSite(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case req.URL.Query().Has("watch"):
		w.Header().Set("Content-Type", "application/json;stream=watch")
		io.WriteString(w, frame("ADDED", site(7)))
		w.(http.Flusher).Flush()
		<-req.Context().Done()
	case req.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, web(8))
	case req.Method == http.MethodPatch:
		io.WriteString(w, site(9))
	default:
		io.WriteString(w, "{}")
	}
}
