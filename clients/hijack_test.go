package clients

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"k8s.io/apimachinery/pkg/util/proxy"

	"github.com/ctrlplane/ctrlplane/observe"
)

// upgrade sends a request for a WebSocket to a handler whose requests are recorded, until the
// server closes the connection, and returns the status of the answer.
func (f *fixture) upgrade(path string, next http.HandlerFunc) (status int) {
	f.Helper()
	handled := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer close(handled)
		f.clients.Handle(w, req, operator, next)
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		f.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", path)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil {
		status = resp.StatusCode
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	<-handled
	return status
}

// expectCall expects one call with that status and error.
func (f *fixture) expectCall(status int, text string) {
	f.Helper()
	calls, _ := f.records()
	if len(calls) != 1 {
		f.Fatalf("%d calls", len(calls))
	}
	if c := calls[0]; c.Status != status || c.Error != text {
		f.Errorf("%d %q, want %d %q", c.Status, c.Error, status, text)
	}
	if c := f.clients.Snapshot()[0]; c.InFlight != 0 || len(c.Watches) != 0 {
		f.Errorf("%+v", c)
	}
}

// onlyClient returns the client that has sent the requests.
func (f *fixture) onlyClient() observe.Client { return f.clients.Snapshot()[0] }

// What an upgraded connection is answered is what its first line says: the proxy of an aggregated
// API takes over the connection before it passes on that the backend refuses.
func TestProxiedUpgrade(t *testing.T) {
	for status, text := range map[int]string{
		http.StatusSwitchingProtocols: "", http.StatusForbidden: "403 Forbidden", http.StatusNotFound: "404 Not Found",
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			f := newFixture(t)
			backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if status != http.StatusSwitchingProtocols {
					w.WriteHeader(status)
					return
				}
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			}))
			defer backend.Close()
			location, err := url.Parse(backend.URL)
			if err != nil {
				t.Fatal(err)
			}
			proxied := proxy.NewUpgradeAwareHandler(location, http.DefaultTransport, false, true, proxy.NewErrorResponder(nil))
			if got := f.upgrade(sites+"?watch=1", proxied.ServeHTTP); got != status {
				t.Errorf("answered with %d", got)
			}
			f.expectCall(status, text)
		})
	}
}

// hijack takes over the connection of a response.
func hijack(t *testing.T, w http.ResponseWriter) (net.Conn, *bufio.ReadWriter) {
	t.Helper()
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Fatal(err)
	}
	return conn, rw
}

// The API server's own WebSockets answer by a buffer, and its SPDY before it takes over the connection.
func TestUpgrade(t *testing.T) {
	const accept = "HTTP/1.1 101 Switching Protocols\r\n\r\n"
	for name, test := range map[string]struct {
		handle func(f *fixture, w http.ResponseWriter)
		status int
		text   string
	}{
		"buffered": {func(f *fixture, w http.ResponseWriter) {
			conn, rw := hijack(f.T, w)
			defer conn.Close()
			if c := f.onlyClient(); c.InFlight != 1 || len(c.Watches) != 0 {
				f.Errorf("before the answer: %+v", c)
			}
			fmt.Fprint(rw, accept)
			rw.Flush()
			if c := f.onlyClient(); c.InFlight != 0 || len(c.Watches) != 1 || c.Watches[0].Delivered != -1 {
				f.Errorf("after the answer: %+v", c)
			}
			if !f.clients.sorted()[0].isInUse() {
				f.Error("the client is not in use")
			}
		}, http.StatusSwitchingProtocols, ""},
		"refused": {func(f *fixture, w http.ResponseWriter) {
			conn, rw := hijack(f.T, w)
			defer conn.Close()
			fmt.Fprint(rw, "HTTP/1.1 400 Bad Request\r\n\r\n")
			rw.Flush()
		}, http.StatusBadRequest, "400 Bad Request"},
		"in parts": {func(f *fixture, w http.ResponseWriter) {
			conn, _ := hijack(f.T, w)
			defer conn.Close()
			for _, b := range []byte(accept + "HTTP/1.1 500 not read") {
				conn.Write([]byte{b})
			}
		}, http.StatusSwitchingProtocols, ""},
		"answered before": {func(f *fixture, w http.ResponseWriter) {
			w.WriteHeader(http.StatusSwitchingProtocols)
			conn, _ := hijack(f.T, w)
			defer conn.Close()
			if c := f.onlyClient(); c.InFlight != 0 || len(c.Watches) != 1 {
				f.Errorf("%+v", c)
			}
			fmt.Fprint(conn, "\x80\x03")
		}, http.StatusSwitchingProtocols, ""},
		"not answered": {func(f *fixture, w http.ResponseWriter) {
			conn, _ := hijack(f.T, w)
			conn.Close()
		}, 0, "the API server closed the connection without an answer"},
		"no HTTP": {func(f *fixture, w http.ResponseWriter) {
			conn, _ := hijack(f.T, w)
			defer conn.Close()
			fmt.Fprint(conn, "hello, this is not HTTP\r\n")
		}, 0, "the API server closed the connection without an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.upgrade(sites+"?watch=1", func(w http.ResponseWriter, _ *http.Request) { test.handle(f, w) })
			f.expectCall(test.status, test.text)
		})
	}
}
