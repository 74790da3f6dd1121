package kubelet

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// A connection that a handler hijacks ends with the handler: Close does not wait for it.
func TestHijackedConnections(t *testing.T) {
	hijack := func(t *testing.T, w http.ResponseWriter, refused bool) {
		if _, _, err := w.(http.Hijacker).Hijack(); (err != nil) != refused {
			t.Errorf("refused: %v, got %v", refused, err)
		}
	}
	for name, handle := range map[string]func(*testing.T, http.ResponseWriter){
		"a second time": func(t *testing.T, w http.ResponseWriter) {
			hijack(t, w, false)
			hijack(t, w, true)
		},
		"below what wraps the response": func(t *testing.T, w http.ResponseWriter) { // as upstream's wsstream does
			hijack(t, responsewriter.GetOriginal(w), false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			testHijackedConnection(t, func(w http.ResponseWriter) { handle(t, w) })
		})
	}
}

func testHijackedConnection(t *testing.T, handle func(http.ResponseWriter)) {
	var tracker connTracker
	ctx, returned := context.WithCancel(t.Context())
	server := httptest.NewUnstartedServer(tracker.trackHijacked(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer returned()
		handle(w)
	})))
	pipe := newPipeListener()
	server.Listener.Close()
	server.Listener = pipe
	server.TLS = &tls.Config{SessionTicketsDisabled: true}
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return contextWithConn(ctx, c.(*tls.Conn))
	}
	server.Config.ConnState = tracker.connState
	server.StartTLS()
	defer server.Close()
	server.Client().Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return pipe.dial(ctx, dialTarget{host: "example.com"})
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := server.Client().Do(request); err == nil {
		res.Body.Close()
		t.Error("a hijacked connection was answered")
	}
	if err := tracker.wait(); err != nil {
		t.Error(err)
	}
}
