package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
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
	synctest.Test(t, func(t *testing.T) {
		var canceled error
		handler := limitBodyTime(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			_, _ = io.ReadAll(req.Body)
			ctx, cancel := context.WithTimeout(req.Context(), 5*bodyTimeout)
			defer cancel()
			<-ctx.Done()
			canceled = req.Context().Err()
		}), bodyTimeout)
		near, far := net.Pipe()
		server := &http.Server{Handler: handler}
		served := make(chan error, 1)
		go func() { served <- server.Serve(&oneConn{conn: far}) }()
		client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}}
		res, err := client.Post("http://fake", "text/plain", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if canceled != nil {
			t.Errorf("the request was ended: %v", canceled)
		}
		if err := errors.Join(server.Close(), near.Close()); err != nil {
			t.Error(err)
		}
		<-served
	})
}

// oneConn is a listener with one connection. Its second Accept fails, after which Serve returns
// and the connection is served on.
type oneConn struct{ conn net.Conn }

func (l *oneConn) Accept() (net.Conn, error) {
	conn := l.conn
	l.conn = nil
	if conn == nil {
		return nil, io.EOF
	}
	return conn, nil
}

func (*oneConn) Close() error   { return nil }
func (*oneConn) Addr() net.Addr { return &net.TCPAddr{} }
