package kubelet

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A handler that hijacks its connection a second time is refused, but the connection has
// ended with it nevertheless: Close does not wait for it.
func TestConnectionHijackedTwice(t *testing.T) {
	var tracker connTracker
	ctx, returned := context.WithCancel(t.Context())
	server := httptest.NewUnstartedServer(tracker.trackHijacked(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer returned()
		for _, refused := range []bool{false, true} {
			if _, _, err := w.(http.Hijacker).Hijack(); (err != nil) != refused {
				t.Errorf("refused: %v, got %v", refused, err)
			}
		}
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
