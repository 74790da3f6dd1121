package rest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/control"
)

// slowBodyRestores take longer than a body may make no progress, and return its length as the revision.
type slowBodyRestores struct{ control.Snapshots }

func (slowBodyRestores) Restore(ctx context.Context, file []byte) (control.RestoreResult, error) {
	select {
	case <-ctx.Done():
		return control.RestoreResult{}, context.Cause(ctx)
	case <-time.After(5 * maxBodyPause):
		return control.RestoreResult{Revision: int64(len(file))}, nil
	}
}

// protocols are the versions of HTTP that the API server speaks. In each of them a deadline works in another way.
func protocols() map[string]*http.Protocols {
	http1, http2 := new(http.Protocols), new(http.Protocols)
	http1.SetHTTP1(true)
	http2.SetUnencryptedHTTP2(true)
	return map[string]*http.Protocols{"HTTP/1.1": http1, "HTTP/2": http2}
}

// sendSlowly sends a request whose body arrives in pieces, with a pause after each, and then stalls unless it ends. It returns the
// answer, and the time that it took. It has to run in a bubble of synctest.
func sendSlowly(t *testing.T, protocol *http.Protocols, method, path string, pieces []string, pause time.Duration, ends bool) (code int, answer []byte, took time.Duration) {
	t.Helper()
	near, far := net.Pipe()
	server := &http.Server{Handler: LimitBodies(Handler(Services{Nodes: fakeNodes{}, Interventions: waitingInterventions{}, Snapshots: slowBodyRestores{}})), Protocols: protocol}
	served := make(chan error, 1)
	go func() { served <- server.Serve(&oneConn{conn: far}) }()
	transport := &http.Transport{Protocols: protocol, DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
	body, send := io.Pipe()
	go func() {
		for _, piece := range pieces {
			if _, err := io.WriteString(send, piece); err != nil {
				return // the request has been answered
			}
			select {
			case <-t.Context().Done():
				return
			case <-time.After(pause):
			}
		}
		if ends {
			send.Close()
		}
	}()
	began := time.Now()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://fake"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := transport.RoundTrip(req)
	took = time.Since(began)
	if err == nil {
		code = res.StatusCode
		answer, err = io.ReadAll(res.Body)
		res.Body.Close()
	}
	if err != nil {
		t.Error(err)
	}
	send.Close()
	transport.CloseIdleConnections()
	if err := errors.Join(server.Close(), near.Close()); err != nil {
		t.Error(err)
	}
	<-served
	return code, answer, took
}

func TestStalledBodies(t *testing.T) {
	for name, protocol := range protocols() {
		for request, tc := range map[string]struct {
			method, path, body string
			code               int
			after              time.Duration
			says               string
		}{
			"object":                    {"POST", ControllersPath + "/pause", `{"names":["a"`, http.StatusRequestTimeout, maxBodyPause, "request body: it has made no progress for 30s: send the request again"},
			"after object":              {"POST", ControllersPath + "/pause", `{"names":["a"]}`, http.StatusRequestTimeout, maxBodyPause, "request body: it has made no progress for 30s: send the request again"},
			"no body":                   {"GET", RecordsPath, ` `, http.StatusRequestTimeout, maxBodyPause, "request body: it has made no progress for 30s: send the request again"},
			"saved state":               {"GET", StatePath, " ", http.StatusRequestTimeout, maxBodyPause, "request body: it has made no progress for 30s: send the request again"},
			"settled":                   {"GET", SettledPath + "?timeout=3s", " ", http.StatusGatewayTimeout, 3 * time.Second, "request body: timed out after 3s"},
			"reset":                     {"POST", ResetPath + "?timeout=3s", " ", http.StatusGatewayTimeout, 3 * time.Second, "request body: timed out after 3s"},
			"snapshot":                  {"PUT", StatePath, "file", http.StatusRequestTimeout, maxBodyPause, "receive snapshot: it has made no progress for 30s: send the request again"},
			"shorter time":              {"POST", ControllersPath + "/pause?timeout=3s", `{"names":["a"`, http.StatusGatewayTimeout, 3 * time.Second, "request body: timed out after 3s"},
			"shorter time after object": {"POST", ControllersPath + "/pause?timeout=3s", `{"names":["a"]}`, http.StatusGatewayTimeout, 3 * time.Second, "request body: timed out after 3s"},
		} {
			t.Run(name+" "+request, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					code, answer, took := sendSlowly(t, protocol, tc.method, tc.path, []string{tc.body}, 0, false)
					var s metav1.Status
					if err := json.Unmarshal(answer, &s); err != nil || code != tc.code || s.Message != tc.says || s.Reason != metav1.StatusReasonTimeout {
						t.Errorf("got %d %s, want %d %q; %v", code, answer, tc.code, tc.says, err)
					}
					if took != tc.after {
						t.Errorf("after %v, want %v", took, tc.after)
					}
				})
			})
		}
	}
}

// TestSlowBodies checks that a body may take long if it makes progress, and the request longer than its body.
func TestSlowBodies(t *testing.T) {
	for name, protocol := range protocols() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				code, answer, took := sendSlowly(t, protocol, "PUT", StatePath, []string{"a", "b", "c", "d"}, maxBodyPause-time.Second, true)
				var r control.RestoreResult
				if err := json.Unmarshal(answer, &r); err != nil || code != http.StatusOK || r.Revision != 4 {
					t.Errorf("got %d %s; %v", code, answer, err)
				}
				if want := 4*(maxBodyPause-time.Second) + 5*maxBodyPause; took != want {
					t.Errorf("after %v, want %v", took, want)
				}
			})
		})
	}
}

// TestTrickledBodies checks that a body with little progress does not extend the time of a request.
func TestTrickledBodies(t *testing.T) {
	for name, protocol := range protocols() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pieces := make([]string, 20)
				for i := range pieces {
					pieces[i] = " "
				}
				code, answer, took := sendSlowly(t, protocol, "POST", ControllersPath+"/pause", pieces, 7*time.Second, false) // none arrives just when the time is over
				if code != http.StatusGatewayTimeout || took != maxRequestTime {
					t.Errorf("got %d %s after %v", code, answer, took)
				}
			})
		})
	}
}

// Before net/http answers a request in HTTP/1.1, it reads what is left of its body.
func TestUnreadBodies(t *testing.T) {
	for name, protocol := range protocols() {
		for path, want := range map[string]struct {
			code   int
			within time.Duration
		}{
			Path + "/v1/unknown":                  {http.StatusNotFound, maxBodyPause},
			Path + "/v1/unknown?timeout=3s":       {http.StatusNotFound, 3 * time.Second},
			RecordsPath + "?unknown=1":            {http.StatusBadRequest, maxBodyPause},
			RecordsPath + "?unknown=1&timeout=3s": {http.StatusBadRequest, 3 * time.Second},
			RecordsPath + "?timeout=3":            {http.StatusBadRequest, maxBodyPause},
			ControllersPath + "/pause?timeout=3s": {http.StatusMethodNotAllowed, 3 * time.Second},
		} {
			t.Run(name+" "+path, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					code, answer, took := sendSlowly(t, protocol, "GET", path, []string{" "}, 0, false)
					if code != want.code || took > want.within {
						t.Errorf("got %d %s after %v, want %+v", code, answer, took, want)
					}
				})
			})
		}
	}
}

// oneConn is a listener with one connection. Its second Accept fails, after which Serve returns and the connection is served on.
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
