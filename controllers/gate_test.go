package controllers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// carried is a transport that notes what it carries out.
type carried struct {
	mu    sync.Mutex
	paths []string
	wait  chan struct{} // answers when closed; nil = at once
}

func (c *carried) RoundTrip(req *http.Request) (*http.Response, error) {
	if c.wait != nil {
		<-c.wait
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths = append(c.paths, req.URL.Path)
	return &http.Response{StatusCode: http.StatusCreated, Body: io.NopCloser(strings.NewReader("{}")), Header: http.Header{}}, nil
}

func (c *carried) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.paths...)
}

func send(ctx context.Context, rt http.RoundTripper, method, path, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://x"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

const pods = "/api/v1/namespaces/default/pods"

func mustPause(t *testing.T, g *gate) {
	t.Helper()
	if err := g.pause(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestPauseHoldsWritesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, api := newGate(), &carried{}
		mustPause(t, g)
		lease := "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x"
		for method, path := range map[string]string{"GET": pods, "HEAD": pods + "/x", "PUT": lease} {
			if err := send(t.Context(), gated{api, g}, method, path, ""); err != nil {
				t.Error(err)
			}
		}
		if got := len(api.all()); got != 3 {
			t.Errorf("%d of 3 have passed", got)
		}
		ended := make(chan error, 1)
		go func() {
			ended <- send(t.Context(), gated{api, g}, "POST", pods, `{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-"}}`)
		}()
		synctest.Wait()
		list, total := g.list(10)
		if total != 1 || len(api.all()) != 3 {
			t.Fatalf("%d held, carried out: %v", total, api.all())
		}
		got := list[0].held()
		if got.Verb != "create" || got.Object.String() != "Pod default/web-" || got.Since.IsZero() || !strings.Contains(string(got.Body), `"generateName":"web-"`) {
			t.Errorf("held: %+v", got)
		}
		g.resume()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, total := g.list(10); total != 0 || len(api.all()) != 4 {
			t.Errorf("%d held, carried out: %v", total, api.all())
		}
	})
}

// What its caller has given up is never carried out.
func TestHeldWriteWhoseContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, api := newGate(), &carried{}
		mustPause(t, g)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := send(ctx, gated{api, g}, "DELETE", pods+"/a", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		g.resume()
		synctest.Wait()
		if got := api.all(); len(got) != 0 {
			t.Errorf("carried out: %v", got)
		}
	})
}

func TestPauseWaitsForWritesOnTheirWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, api := newGate(), &carried{wait: make(chan struct{})}
		sent, paused := make(chan error, 1), make(chan error, 1)
		go func() { sent <- send(t.Context(), gated{api, g}, "POST", pods, "") }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := g.pause(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		go func() { paused <- g.pause(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-paused:
			t.Fatalf("paused too early: %v", err)
		default:
		}
		close(api.wait)
		if err := errors.Join(<-sent, <-paused); err != nil {
			t.Error(err)
		}
	})
}

func TestStepsGoInOrderOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, api := newGate(), &carried{}
		mustPause(t, g)
		var want []string
		for i := range 5 {
			path := fmt.Sprintf("%s/%d", pods, i)
			want = append(want, path)
			go send(t.Context(), gated{api, g}, "PUT", path, "") //nolint:errcheck // the end of it is not looked at
			synctest.Wait()
		}
		for i := range 3 {
			s, err := g.step(t.Context(), t.Context())
			if err != nil || s.Object.Name != fmt.Sprint(i) || s.Status != http.StatusCreated || s.Error != "" {
				t.Fatalf("step %d: %+v, %v", i, s, err)
			}
			if diff := cmp.Diff(want[:i+1], api.all()); diff != "" {
				t.Errorf("step %d: -want +got:\n%s", i, diff)
			}
		}
		g.resume()
		synctest.Wait()
		if got := api.all(); len(got) != 5 {
			t.Errorf("carried out: %v", got)
		}
	})
}

// A step waits for a write that comes, for a while, and ends when the gate opens.
func TestStepWithNothingHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, api := newGate(), &carried{}
		if _, err := g.step(t.Context(), t.Context()); !errors.As(err, new(usage.Error)) {
			t.Errorf("of a gate that is open: %v", err)
		}
		mustPause(t, g)
		wait, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if s, err := g.step(t.Context(), wait); s != nil || err != nil {
			t.Errorf("got %v, %v", s, err)
		}
		stepped := make(chan error, 1)
		go func() {
			_, err := g.step(t.Context(), t.Context())
			stepped <- err
		}()
		synctest.Wait()
		if err := errors.Join(send(t.Context(), gated{api, g}, "PUT", pods+"/a", ""), <-stepped); err != nil {
			t.Error(err)
		}
		go func() {
			_, err := g.step(t.Context(), t.Context())
			stepped <- err
		}()
		synctest.Wait()
		g.resume()
		if err := <-stepped; !errors.Is(err, errNotPaused) {
			t.Errorf("after resume: %v", err)
		}
	})
}

// many holds writes of many clients of a server.
func many(t *testing.T, n int) (g *gate, done *sync.WaitGroup, carriedOut, refused *atomic.Int64) {
	t.Helper()
	carriedOut, refused, done = &atomic.Int64{}, &atomic.Int64{}, &sync.WaitGroup{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		carriedOut.Add(1)
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(srv.Close)
	g = newGate()
	mustPause(t, g)
	client := &http.Client{Transport: gated{&http.Transport{MaxConnsPerHost: 16}, g}}
	for range n {
		done.Go(func() {
			resp, err := client.Post(srv.URL+pods, "application/json", strings.NewReader("{}"))
			if err != nil {
				refused.Add(1)
				if !errors.Is(err, errStopped) {
					t.Error(err)
				}
				return
			}
			if err := resp.Body.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	awaitHeld(t, g, n)
	return g, done, carriedOut, refused
}

// awaitHeld waits until n writes are held.
func awaitHeld(t *testing.T, g *gate, n int) {
	t.Helper()
	for {
		g.mu.Lock()
		arrived, held := g.arrived, g.held.Len()
		g.mu.Unlock()
		if held == n {
			return
		}
		<-arrived
	}
}

const thousands = 5000

func TestResumeWithThousandsHeld(t *testing.T) {
	g, done, carriedOut, refused := many(t, thousands)
	if got := carriedOut.Load(); got != 0 {
		t.Errorf("%d were carried out while paused", got)
	}
	g.resume()
	done.Wait()
	if carriedOut.Load() != thousands || refused.Load() != 0 {
		t.Errorf("%d carried out, %d refused", carriedOut.Load(), refused.Load())
	}
	mustPause(t, g) // nothing is counted as on its way
}

func TestEndWithThousandsHeld(t *testing.T) {
	g, done, carriedOut, refused := many(t, thousands)
	g.end(errStopped)
	done.Wait()
	if carriedOut.Load() != 0 || refused.Load() != thousands {
		t.Errorf("%d carried out, %d refused", carriedOut.Load(), refused.Load())
	}
	if err := send(t.Context(), gated{&carried{}, g}, "POST", pods, ""); !errors.Is(err, errStopped) {
		t.Errorf("after the end: %v", err)
	}
	if err := g.pause(t.Context()); !errors.Is(err, errStopped) {
		t.Errorf("pause after the end: %v", err)
	}
}

// Writers, givers-up, steps, pauses and resumes at once: each write is carried
// out exactly when its caller is told so.
func TestGateUnderLoad(t *testing.T) {
	g, api := newGate(), &carried{}
	g.look = looker{roundTripper(func(*http.Request) (*http.Response, error) {
		return answered(http.StatusOK, "application/json", "{}"), nil
	})}
	var told atomic.Int64
	var writers, hands sync.WaitGroup
	for i := range 50 {
		writers.Go(func() {
			for j := range 40 {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+j)%3 == 0 {
					go cancel()
				}
				switch err := send(ctx, gated{api, g}, "POST", pods, "{}"); {
				case err == nil:
					told.Add(1)
				case !errors.Is(err, context.Canceled):
					t.Error(err)
				}
				cancel()
			}
		})
	}
	over, stop := context.WithCancel(t.Context())
	for range 4 {
		hands.Go(func() {
			for over.Err() == nil {
				if err := g.pause(over); err != nil && over.Err() == nil {
					t.Error(err)
				}
				if _, err := g.step(over, over); err != nil && !errors.Is(err, errNotPaused) && over.Err() == nil {
					t.Error(err)
				}
				g.resume()
			}
			g.resume()
		})
	}
	writers.Wait()
	stop()
	hands.Wait()
	if got := int64(len(api.all())); got != told.Load() {
		t.Errorf("%d carried out, %d told so", got, told.Load())
	}
	if g.flying != 0 || g.held.Len() != 0 {
		t.Errorf("left: %d on their way, %d held", g.flying, g.held.Len())
	}
}
