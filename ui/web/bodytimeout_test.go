package web

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestBodyThatNeverArrives checks that a client cannot hold a connection with a body that it
// does not send, whether the handler reads it or not.
func TestBodyThatNeverArrives(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"read":   func(_ http.ResponseWriter, req *http.Request) { _, _ = io.ReadAll(req.Body) },
		"unread": func(http.ResponseWriter, *http.Request) {},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(limitBodyTime(handler, 50*time.Millisecond))
			defer server.Close()
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(conn); err != nil {
				t.Errorf("the connection is not closed: %v", err)
			}
		})
	}
}

// TestHandlerMayTakeLongerThanItsBody checks that the limit ends with the body.
func TestHandlerMayTakeLongerThanItsBody(t *testing.T) {
	const timeout = 20 * time.Millisecond
	var canceled error
	server := httptest.NewServer(limitBodyTime(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.ReadAll(req.Body)
		ctx, cancel := context.WithTimeout(req.Context(), 5*timeout)
		defer cancel()
		<-ctx.Done()
		canceled = req.Context().Err()
	}), timeout))
	defer server.Close()
	res, err := http.Post(server.URL, "text/plain", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if canceled != nil {
		t.Errorf("the request was ended: %v", canceled)
	}
}
