package web

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// TestTracesThatAreNotRead has viewers that read nothing of a large answer. Others get theirs at once, and
// the viewers are disconnected.
func TestTracesThatAreNotRead(t *testing.T) {
	for _, public := range []bool{false, true} {
		src := &fakeSource{}
		pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "large"}
		src.add(&observe.Called{Controller: "kubectl (admin)", Verb: "create", Object: pod, Status: 201, ResourceVersion: "5", Client: &observe.Caller{User: "admin"}})
		for range 32 { // 16 MB: more than the buffers of a connection
			src.add(&observe.Called{Controller: "kubectl (admin)", Verb: "update", Object: pod, Status: 500, Error: strings.Repeat("x", 512<<10), Client: &observe.Caller{User: "admin"}})
		}
		o := Options{Source: src}
		if public {
			o.Listen = Listen{Public: true, Address: "127.0.0.1:0"}
		}
		s := startServer(t, o)
		s.writeTimeout = 24 * time.Hour
		visit := func() *visitor {
			v := newVisitor(t, s)
			v.client.Transport.(*http.Transport).ForceAttemptHTTP2 = public
			v.open(s.ClassLink())
			return v
		}
		ask := func(v *visitor) error {
			response, err := v.client.Get(s.url + "api/trace?resource=pods&namespace=default&name=large")
			if err != nil {
				return err
			}
			t.Cleanup(func() { response.Body.Close() })
			if response.StatusCode != http.StatusOK || response.ProtoMajor == 2 != public {
				t.Errorf("%s: status %d", response.Proto, response.StatusCode)
			}
			return nil
		}
		for range cap(s.traces) {
			if err := ask(visit()); err != nil {
				t.Fatal(err)
			}
		}
		last := visit()
		s.writeTimeout = 50 * time.Millisecond
		if err := ask(last); err != nil { // a slow machine needs longer to write the headers
			t.Log(err)
		}
		testutil.Await(t, "the end of the last answer", func() bool {
			s.limits.mu.Lock()
			defer s.limits.mu.Unlock()
			return len(s.limits.used) <= 2*cap(s.traces)
		})
	}
}

// TestConnectionThatReadsNothing has no session.
func TestConnectionThatReadsNothing(t *testing.T) {
	s := startServer(t, Options{})
	s.writeTimeout = 50 * time.Millisecond
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for err == nil { // until the server has closed the connection
		_, err = io.WriteString(conn, strings.Repeat("GET /vendor/dagre.esm.js HTTP/1.1\r\nHost: "+address+"\r\n\r\n", 100))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection is still open")
	}
}
