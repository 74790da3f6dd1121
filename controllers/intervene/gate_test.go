package intervene

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
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// fakeTransport is a transport that notes the paths of its requests.
type fakeTransport struct {
	mu    sync.Mutex
	paths []string
	hold  chan struct{} // it answers when this is closed; nil = at once
}

func (c *fakeTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if c.hold != nil {
		<-c.hold
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths = append(c.paths, req.URL.Path)
	return &http.Response{StatusCode: http.StatusCreated, Body: io.NopCloser(strings.NewReader("{}")), Header: http.Header{}}, nil
}

func (c *fakeTransport) sentPaths() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.paths...)
}

func sendRequest(ctx context.Context, rt http.RoundTripper, method, path, body string) error {
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

// errClosed is the error of a gate that the tests close.
var errClosed = errors.New("closed")

const pods = "/api/v1/namespaces/default/pods"

func mustPause(t *testing.T, g *Gate) {
	t.Helper()
	if err := g.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestPauseHoldsWritesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, api := NewGate(ObjectReader{}), &fakeTransport{}
		mustPause(t, g)
		lease := "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x"
		for method, path := range map[string]string{"GET": pods, "HEAD": pods + "/x", "PUT": lease} {
			if err := sendRequest(t.Context(), gateTransport{api, g}, method, path, ""); err != nil {
				t.Error(err)
			}
		}
		if got := len(api.sentPaths()); got != 3 {
			t.Errorf("%d of 3 requests were sent", got)
		}
		ended := make(chan error, 1)
		go func() {
			ended <- sendRequest(t.Context(), gateTransport{api, g}, "POST", pods, `{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-"}}`)
		}()
		synctest.Wait()
		list, total := g.HeldWrites(10)
		if total != 1 || len(api.sentPaths()) != 3 {
			t.Fatalf("%d held, sent: %v", total, api.sentPaths())
		}
		got := list[0]
		if got.Verb != "create" || got.Object.String() != "Pod default/web-" || got.Since.IsZero() || !strings.Contains(string(got.Body), `"generateName":"web-"`) {
			t.Errorf("held: %+v", got)
		}
		g.Resume()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, total := g.HeldWrites(10); total != 0 || len(api.sentPaths()) != 4 {
			t.Errorf("%d held, sent: %v", total, api.sentPaths())
		}
	})
}

// A held write whose request is canceled is never sent.
func TestHeldWriteOfCanceledRequestIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, api := NewGate(ObjectReader{}), &fakeTransport{}
		mustPause(t, g)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := sendRequest(ctx, gateTransport{api, g}, "DELETE", pods+"/a", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		g.Resume()
		synctest.Wait()
		if got := api.sentPaths(); len(got) != 0 {
			t.Errorf("sent: %v", got)
		}
	})
}

func TestPauseWaitsForInFlightWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, api := NewGate(ObjectReader{}), &fakeTransport{hold: make(chan struct{})}
		sent, paused := make(chan error, 1), make(chan error, 1)
		go func() { sent <- sendRequest(t.Context(), gateTransport{api, g}, "POST", pods, "") }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := g.Pause(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		go func() { paused <- g.Pause(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-paused:
			t.Fatalf("Pause has returned too early: %v", err)
		default:
		}
		close(api.hold)
		if err := errors.Join(<-sent, <-paused); err != nil {
			t.Error(err)
		}
	})
}

func TestStepsReleaseWritesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, api := NewGate(ObjectReader{}), &fakeTransport{}
		mustPause(t, g)
		var want []string
		for i := range 5 {
			path := fmt.Sprintf("%s/%d", pods, i)
			want = append(want, path)
			go sendRequest(t.Context(), gateTransport{api, g}, "PUT", path, "") // the steps are checked instead
			synctest.Wait()
		}
		for i := range 3 {
			s, err := g.step(t.Context(), t.Context())
			if err != nil || s.Object.Name != fmt.Sprint(i) || s.Status != http.StatusCreated || s.Error != "" {
				t.Fatalf("step %d: %+v, %v", i, s, err)
			}
			if diff := cmp.Diff(want[:i+1], api.sentPaths()); diff != "" {
				t.Errorf("step %d: -want +got:\n%s", i, diff)
			}
		}
		g.Resume()
		synctest.Wait()
		if got := api.sentPaths(); len(got) != 5 {
			t.Errorf("sent: %v", got)
		}
	})
}

// A step waits for a write until its time is up, and fails when the gate opens.
func TestStepWaitsForWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, api := NewGate(ObjectReader{}), &fakeTransport{}
		if _, err := g.step(t.Context(), t.Context()); !errors.Is(err, ErrNotPaused) {
			t.Errorf("step through an open gate: %v", err)
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
		if err := errors.Join(sendRequest(t.Context(), gateTransport{api, g}, "PUT", pods+"/a", ""), <-stepped); err != nil {
			t.Error(err)
		}
		go func() {
			_, err := g.step(t.Context(), t.Context())
			stepped <- err
		}()
		synctest.Wait()
		g.Resume()
		if err := <-stepped; !errors.Is(err, ErrNotPaused) {
			t.Errorf("after resume: %v", err)
		}
	})
}

func endedContext(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// A step that does not wait releases a write that is held, and only such a one.
func TestStepWithoutWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, api := NewGate(ObjectReader{}), &fakeTransport{}
		mustPause(t, g)
		sent := make(chan error, 1)
		for range 20 {
			if s, err := g.step(t.Context(), endedContext(t)); s != nil || err != nil {
				t.Fatalf("without a held write: %v, %v", s, err)
			}
			go func() { sent <- sendRequest(t.Context(), gateTransport{api, g}, "PUT", pods+"/a", "") }()
			synctest.Wait()
			if s, err := g.step(t.Context(), endedContext(t)); s == nil || err != nil {
				t.Fatalf("with a held write: %v, %v", s, err)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
		}
		g.stepLock <- struct{}{}
		if s, err := g.step(t.Context(), endedContext(t)); s != nil || err != nil {
			t.Errorf("during another step: %v, %v", s, err)
		}
	})
}

// A step that is canceled while its write is in flight blocks further steps until
// the write has been answered.
func TestCanceledStepBlocksNextStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, api := NewGate(ObjectReader{}), &fakeTransport{hold: make(chan struct{})}
		mustPause(t, g)
		sent := make(chan error, 2)
		for _, name := range []string{"/a", "/b"} {
			go func() { sent <- sendRequest(t.Context(), gateTransport{api, g}, "PUT", pods+name, "") }()
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := g.step(ctx, ctx)
			first <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("canceled step: %v", err)
		}
		go func() {
			s, err := g.step(t.Context(), t.Context())
			if err == nil && s.Object.Name != "b" {
				err = fmt.Errorf("stepped %s", s.Object)
			}
			second <- err
		}()
		synctest.Wait()
		if _, total := g.HeldWrites(0); total != 1 {
			t.Errorf("%d held while the first write is in flight, want 1", total)
		}
		close(api.hold)
		if err := errors.Join(<-second, <-sent, <-sent); err != nil {
			t.Error(err)
		}
	})
}

// holdManyWrites sends n writes through a paused gate, and waits until all are held.
func holdManyWrites(t *testing.T, n int) (g *Gate, done *sync.WaitGroup, carriedOut, refused *atomic.Int64) {
	t.Helper()
	carriedOut, refused, done = &atomic.Int64{}, &atomic.Int64{}, &sync.WaitGroup{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		carriedOut.Add(1)
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(srv.Close)
	g = NewGate(ObjectReader{})
	mustPause(t, g)
	client := &http.Client{Transport: gateTransport{&http.Transport{MaxConnsPerHost: 16}, g}}
	for range n {
		done.Go(func() {
			resp, err := client.Post(srv.URL+pods, "application/json", strings.NewReader("{}"))
			if err != nil {
				refused.Add(1)
				if !errors.Is(err, errClosed) {
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
func awaitHeld(t *testing.T, g *Gate, n int) {
	t.Helper()
	for {
		g.mu.Lock()
		arrived, held := g.changed, g.list.Len()
		g.mu.Unlock()
		if held == n {
			return
		}
		<-arrived
	}
}

const manyWrites = 5000

func TestResumeReleasesThousandsOfWrites(t *testing.T) {
	g, done, carriedOut, refused := holdManyWrites(t, manyWrites)
	if got := carriedOut.Load(); got != 0 {
		t.Errorf("%d writes were sent while paused", got)
	}
	g.Resume()
	done.Wait()
	if carriedOut.Load() != manyWrites || refused.Load() != 0 {
		t.Errorf("%d sent, %d refused", carriedOut.Load(), refused.Load())
	}
	mustPause(t, g) // would wait for writes in flight
}

func TestCloseRefusesThousandsOfWrites(t *testing.T) {
	g, done, carriedOut, refused := holdManyWrites(t, manyWrites)
	g.CloseWithError(errClosed)
	done.Wait()
	if carriedOut.Load() != 0 || refused.Load() != manyWrites {
		t.Errorf("%d sent, %d refused", carriedOut.Load(), refused.Load())
	}
	if err := sendRequest(t.Context(), gateTransport{&fakeTransport{}, g}, "POST", pods, ""); !errors.Is(err, errClosed) {
		t.Errorf("write after the close: %v", err)
	}
	requireFinal(t, g)
}

// requireFinal checks that a gate accepts no intervention.
func requireFinal(t *testing.T, g *Gate) {
	t.Helper()
	for what, err := range map[string]error{
		"pause": g.Pause(t.Context()), "delay": g.SetDelay(time.Hour), "fault": g.SetFault(control.Fault{Rate: 1, Code: "500"}),
	} {
		if !errors.Is(err, errClosed) {
			t.Errorf("%s after the close: %v", what, err)
		}
	}
	if g.IsActive() {
		t.Errorf("set after the close: %+v", g.Interventions())
	}
}

// Without an intervention, the calls of a controller that stops go on, and none is set any more that would hold
// them.
func TestCloseIfActive(t *testing.T) {
	for name, set := range map[string]func(*Gate) error{
		"nothing set": nil,
		"paused":      func(g *Gate) error { return g.Pause(t.Context()) },
		"delayed":     func(g *Gate) error { return g.SetDelay(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewGate(ObjectReader{})
			if set != nil {
				if err := set(g); err != nil {
					t.Fatal(err)
				}
			}
			g.CloseIfActive(errClosed)
			requireFinal(t, g)
			err := sendRequest(t.Context(), gateTransport{&fakeTransport{}, g}, "POST", pods, "")
			if set == nil && err != nil || set != nil && !errors.Is(err, errClosed) {
				t.Errorf("write after the close: %v", err)
			}
		})
	}
}

// A controller may read an object again when its write is refused, with a context that a
// stop does not end, as upstream does after a status update. A thousand such reads kept a
// controller from stopping in time.
func TestCloseRefusesReads(t *testing.T) {
	g, api := NewGate(ObjectReader{}), &fakeTransport{}
	mustPause(t, g)
	g.CloseWithError(errClosed)
	for _, method := range []string{"GET", "HEAD"} {
		if err := sendRequest(t.Context(), gateTransport{api, g}, method, pods, ""); !errors.Is(err, errClosed) {
			t.Errorf("%s after the close: %v", method, err)
		}
	}
	if sent := api.sentPaths(); len(sent) > 0 {
		t.Errorf("sent: %q", sent)
	}
}

// With concurrent writes, cancellations, steps, pauses and resumes, a write is
// sent exactly if its caller receives no error.
func TestGateUnderConcurrentUse(t *testing.T) {
	g, api := NewGate(ObjectReader{}), &fakeTransport{}
	g.objects = ObjectReader{roundTripFunc(func(*http.Request) (*http.Response, error) {
		return newResponse(http.StatusOK, "application/json", "{}"), nil
	})}
	var succeeded atomic.Int64
	var writers, steppers sync.WaitGroup
	for i := range 50 {
		writers.Go(func() {
			for j := range 40 {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+j)%3 == 0 {
					go cancel()
				}
				switch err := sendRequest(ctx, gateTransport{api, g}, "POST", pods, "{}"); {
				case err == nil:
					succeeded.Add(1)
				case !errors.Is(err, context.Canceled):
					t.Error(err)
				}
				cancel()
			}
		})
	}
	over, stop := context.WithCancel(t.Context())
	for range 4 {
		steppers.Go(func() {
			for over.Err() == nil {
				if err := g.Pause(over); err != nil && over.Err() == nil {
					t.Error(err)
				}
				if _, err := g.step(over, over); err != nil && !errors.Is(err, ErrNotPaused) && over.Err() == nil {
					t.Error(err)
				}
				g.Resume()
			}
			g.Resume()
		})
	}
	writers.Wait()
	stop()
	steppers.Wait()
	if got := int64(len(api.sentPaths())); got != succeeded.Load() {
		t.Errorf("%d sent, %d succeeded", got, succeeded.Load())
	}
	if g.inFlight != 0 || g.list.Len() != 0 {
		t.Errorf("left: %d in flight, %d held", g.inFlight, g.list.Len())
	}
}

func TestInterventionMovesToNewGate(t *testing.T) {
	before, after := NewGate(ObjectReader{}), NewGate(ObjectReader{})
	before.SetDelay(time.Second)
	before.SetFault(control.Fault{Rate: 0.5, Code: "500"})
	mustPause(t, before)
	after.Apply(before.Interventions())
	want := observe.Interventions{Paused: true, Delay: time.Second, Fault: control.Fault{Rate: 0.5, Code: "500"}}
	if got := after.Interventions(); got != want {
		t.Errorf("got %+v", got)
	}
	after.Apply(observe.Interventions{})
	if after.IsActive() || after.affectsCalls.Load() {
		t.Errorf("after clearing: %+v", after.Interventions())
	}
}

// A pause holds the same requests whether or not they are recorded, in which case the recorder says what they are about.
func TestPauseHoldsRecordedWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe.New(observe.Options{})
		defer o.Close()
		g, held := NewGate(ObjectReader{}), 0
		cfg := recording.ObserveCalls(InterceptCalls(&rest.Config{}, g), o.Recorder("c"))
		rt := cfg.WrapTransport(&fakeTransport{})
		mustPause(t, g)
		var sent sync.WaitGroup
		for _, path := range []string{
			pods, pods + "/a", pods + "/a/status", pods + "/a/exec", pods + "/a/binding", "/api/v1/nodes/n/proxy/x", "/api/v1/namespaces/default", "/api/v1/namespaces/default/finalize",
			"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x", "/apis/example.com/v1/namespaces/default/leases/x", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
			"/api/v1/namespaces/default/serviceaccounts/a/token", "/api", "/healthz", "/",
		} {
			for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
				req, err := http.NewRequestWithContext(t.Context(), method, "http://x"+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				if canBeHeld(req) {
					held++
				}
				sent.Go(func() {
					if err := sendRequest(t.Context(), rt, method, path, ""); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
				if _, total := g.HeldWrites(0); total != held {
					t.Errorf("%s %s: %d held, want %d", method, path, total, held)
					held = total
				}
			}
		}
		g.Resume()
		sent.Wait()
	})
}
