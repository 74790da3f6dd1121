package intervene

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
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
	g.Handle(w, req, s)
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
		done, err := g.Step(t.Context(), t.Context())
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
		if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), injectedMessage) || len(s.bodies) != 1 {
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
		if done, err := g.Step(t.Context(), t.Context()); err != nil || done.Error == "" {
			t.Errorf("step: %+v, %v", done, err)
		}
	})
}
