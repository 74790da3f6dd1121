package intervene

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// fakeServer is a handler that notes its requests.
type fakeServer struct{ bodies []string }

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		panic(err)
	}
	s.bodies = append(s.bodies, req.Method+" "+string(body))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprint(w, `{"kind":"Pod","metadata":{"name":"web-1","uid":"u","resourceVersion":"9"}}`)
}

// serve passes a request to a gate in front of a server. The result is set when the
// handler has returned.
func serve(ctx context.Context, g *Gate, s http.Handler, method, path, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	g.Handle(w, req, new(time.Duration), s)
	return w
}

// A gate in a server holds writes with the body that the server then receives, and
// passes reads, streams and leases.
func TestHandlePausesWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := NewGate(ObjectReader{}), &fakeServer{}
		mustPause(t, g)
		for method, path := range map[string]string{
			"GET": pods, "POST": pods + "/web-1/exec", "PUT": "/apis/coordination.k8s.io/v1/namespaces/shop/leases/x",
		} {
			serve(t.Context(), g, s, method, path, "")
		}
		if len(s.bodies) != 3 {
			t.Errorf("the server received %q", s.bodies)
		}
		body := `{"metadata":{"name":"web-1"},"filler":"` + strings.Repeat("x", maxShownBody) + `"}`
		answered := make(chan *httptest.ResponseRecorder, 2)
		for _, body := range []string{`{"metadata":{"name":"exec"}}`, body} {
			go func() { answered <- serve(t.Context(), g, s, "POST", pods, body) }()
			synctest.Wait()
		}
		if list, total := g.HeldWrites(10); total != 2 || list[0].Object.Name != "exec" || len(s.bodies) != 3 {
			t.Fatalf("held: %+v", list)
		}
		done, err := g.step(t.Context(), t.Context())
		if err != nil || done.Status != 201 || done.Object.Name != "web-1" {
			t.Errorf("step: %+v, %v", done, err)
		}
		g.Resume()
		for range 2 {
			if w := <-answered; w.Code != http.StatusCreated || !strings.Contains(w.Body.String(), `"web-1"`) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		if got := s.bodies[len(s.bodies)-1]; got != "POST "+body {
			t.Errorf("the server received %d bytes, not the body", len(got))
		}
	})
}

// A write that arrives while a pause is being set is held only after its body was read.
func TestWriteIsNotHeldWithItsBodyUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(ObjectReader{})
		mustPause(t, g)
		if _, err := g.admitWrite(httptest.NewRequest("POST", pods, strings.NewReader("{}")), false, new(time.Duration)); !errors.Is(err, errBodyUnread) {
			t.Errorf("got %v, want %v", err, errBodyUnread)
		}
		if _, total := g.HeldWrites(1); total != 0 {
			t.Errorf("%d held writes", total)
		}
	})
}

// A client that goes away while its write is held leaves nothing behind.
func TestHandleForgetsAbandonedWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := NewGate(ObjectReader{}), &fakeServer{}
		mustPause(t, g)
		ctx, cancel := context.WithCancel(t.Context())
		go serve(ctx, g, s, "POST", pods, "{}")
		synctest.Wait()
		cancel()
		synctest.Wait()
		if _, total := g.HeldWrites(1); total != 0 || len(s.bodies) != 0 {
			t.Errorf("%d held writes, received %q", total, s.bodies)
		}
		mustPause(t, g) // waits until no write is in flight
	})
}

// A write that is not performed is never answered with success: without an answer of the
// handler, net/http sends 200.
func TestHandleAnswersCanceledRequests(t *testing.T) {
	closing := errors.New("the API server is closing")
	for name, set := range map[string]func(*Gate){
		"held":    func(g *Gate) { mustPause(t, g) },
		"delayed": func(g *Gate) { g.SetDelay(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, s := NewGate(ObjectReader{}), &fakeServer{}
				set(g)
				ctx, cancel := context.WithCancelCause(t.Context())
				answered := make(chan *httptest.ResponseRecorder, 1)
				go func() { answered <- serve(ctx, g, s, "POST", pods, "{}") }()
				synctest.Wait()
				cancel(closing)
				w := <-answered
				if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), closing.Error()) || len(s.bodies) != 0 {
					t.Errorf("%d %s, received %q", w.Code, w.Body, s.bodies)
				}
			})
		})
	}
}

// Writes that wait while another state is restored fail with a conflict, later ones do not,
// and the interventions stay.
func TestHandleRefusesOutdatedWrites(t *testing.T) {
	for name, set := range map[string]func(*Gate){
		"held":    func(g *Gate) { mustPause(t, g) },
		"delayed": func(g *Gate) { g.SetDelay(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, s := NewGate(ObjectReader{}), &fakeServer{}
				set(g)
				answered := make(chan *httptest.ResponseRecorder, 1)
				send := func() { answered <- serve(t.Context(), g, s, "PUT", pods+"/web-1", "{}") }
				go send()
				synctest.Wait()
				g.RefuseWaiting(errors.New("restored"))
				w := <-answered
				if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "restored") || len(s.bodies) != 0 || !g.IsActive() {
					t.Errorf("%d %s, received %q", w.Code, w.Body, s.bodies)
				}
				go send()
				synctest.Wait()
				g.Resume()
				if w := <-answered; w.Code != http.StatusCreated || len(s.bodies) != 1 {
					t.Errorf("a later write: %d %s, received %q", w.Code, w.Body, s.bodies)
				}
				mustPause(t, g) // waits until no write is in flight
			})
		})
	}
}

func TestHandleRefusesUnreadableBodies(t *testing.T) {
	g, s := NewGate(ObjectReader{}), &fakeServer{}
	mustPause(t, g)
	for want, body := range map[int]io.Reader{
		http.StatusBadRequest:            iotest.ErrReader(errors.New("reset")),
		http.StatusRequestEntityTooLarge: strings.NewReader(strings.Repeat("x", maxBody+1)),
	} {
		w := httptest.NewRecorder()
		g.Handle(w, httptest.NewRequestWithContext(t.Context(), "POST", pods, body), new(time.Duration), s)
		if w.Code != want || len(s.bodies) != 0 {
			t.Errorf("%d, want %d; received %d requests", w.Code, want, len(s.bodies))
		}
	}
}

// A request whose client has gone while it waits is not performed: a server of HTTP/1.1
// notices that only when it has read the body.
func TestHandleNoticesThatTheClientHasGone(t *testing.T) {
	pause := func(g *Gate) { mustPause(t, g) }
	delay := func(g *Gate) { g.SetDelay(time.Hour) }
	for name, tt := range map[string]struct {
		set  func(*Gate)
		path string
	}{
		"held":           {pause, pods},
		"delayed":        {delay, pods},
		"delayed review": {delay, "/apis/authorization.k8s.io/v1/subjectaccessreviews"},
	} {
		t.Run(name, func(t *testing.T) {
			g, s := NewGate(ObjectReader{}), &fakeServer{}
			tt.set(g)
			began, ended := make(chan struct{}), make(chan struct{})
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				defer close(ended)
				close(began)
				g.Handle(w, req, new(time.Duration), s)
			}))
			defer srv.Close()
			conn, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			body := strings.Repeat("x", 2*maxShownBody)
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", tt.path, len(body), body)
			<-began
			conn.Close()
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Error("the request still waits")
				g.CloseWithError(errors.New("end of test"))
			}
			<-ended
			if len(s.bodies) != 0 {
				t.Errorf("the server received %d requests", len(s.bodies))
			}
		})
	}
}

// The body of a stream is read by what handles it.
func TestHandleLeavesTheBodyOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(ObjectReader{})
		g.SetDelay(time.Second)
		body, sent := io.Pipe()
		defer sent.Close()
		handled := make(chan struct{})
		go g.Handle(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "POST", pods+"/web-1/proxy/x", body), new(time.Duration),
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(handled) }))
		select {
		case <-handled:
		case <-time.After(time.Minute):
			t.Error("waits for the end of the body")
		}
	})
}

func TestHandleDelaysAndFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := NewGate(ObjectReader{}), &fakeServer{}
		g.SetDelay(time.Second)
		g.SetFault(control.Fault{Rate: 1, Code: "409"})
		began := time.Now()
		if w := serve(t.Context(), g, s, "GET", pods+"/web-1", ""); w.Code != http.StatusCreated || time.Since(began) != time.Second {
			t.Errorf("a read: %d after %v", w.Code, time.Since(began))
		}
		w := serve(t.Context(), g, s, "PUT", pods+"/web-1", "{}")
		if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), observe.InjectedFault) || len(s.bodies) != 1 {
			t.Errorf("a write: %d %s, received %q", w.Code, w.Body, s.bodies)
		}
		mustPause(t, g) // waits until no write is in flight
	})
}

// A handler that panics to abort its response ends its write.
func TestHandleSurvivesAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(ObjectReader{})
		abort := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		send := func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			serve(t.Context(), g, abort, "POST", pods, "{}")
		}
		send()
		mustPause(t, g)
		go send()
		synctest.Wait()
		if done, err := g.step(t.Context(), t.Context()); err != nil || done.Error == "" {
			t.Errorf("step: %+v, %v", done, err)
		}
	})
}
