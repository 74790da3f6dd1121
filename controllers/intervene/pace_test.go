package intervene

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// pacedController is a controller whose syncs wait for their turn.
type pacedController struct {
	pace     *Pace
	observer *observe.Observer
	queue    *observe.KeyedQueue
}

func newPacedController(t *testing.T) *pacedController {
	o := observe.New(observe.Options{})
	t.Cleanup(func() { o.Close() })
	return &pacedController{NewPace(), o, o.Recorder("web-controller").KeyedQueue("web")}
}

// sync syncs a key, with two places in which it may wait.
func (c *pacedController) sync(ctx context.Context, key string, ended <-chan struct{}) {
	s := c.queue.Begin(key, nil)
	defer s.End("")
	defer s.Enter()()
	c.pace.WaitTurn(ctx, ended)
	c.pace.WaitTurn(ctx, ended)
}

func (c *pacedController) set(t *testing.T, s observe.Speed) {
	t.Helper()
	if err := c.pace.SetSpeed(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// waiting returns the keys that wait for their turn.
func (c *pacedController) waiting(t *testing.T) (keys []string) {
	t.Helper()
	s, err := c.observer.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Controllers[0].Running {
		if r.Waits {
			keys = append(keys, r.Key)
		}
	}
	return keys
}

func TestSpeedIsTheTimeThatEachKeyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newPacedController(t)
		defer c.observer.Close()
		for speed, want := range map[observe.Speed]time.Duration{
			observe.SpeedFull: 0, observe.SpeedHalf: 50 * time.Millisecond, observe.SpeedFifth: 200 * time.Millisecond, observe.SpeedTenth: 450 * time.Millisecond,
		} {
			c.set(t, speed)
			began := time.Now()
			c.sync(t.Context(), "default/a", nil)
			if got := time.Since(began); got != want {
				t.Errorf("%s: a sync took %v, want %v", speed, got, want)
			}
		}
		began := time.Now() // still at some slow speed: only syncs wait
		c.set(t, observe.SpeedStep)
		c.pace.WaitTurn(t.Context(), nil)
		if got := time.Since(began); got != 0 {
			t.Errorf("outside of a sync it waited %v", got)
		}
	})
}

func TestUnknownSpeedIsRefused(t *testing.T) {
	p := NewPace()
	if err := p.SetSpeed(t.Context(), "2"); !errors.As(err, new(usage.Error)) {
		t.Errorf("got %v", err)
	}
	if got := p.Speed(); got != observe.SpeedFull {
		t.Errorf("speed %s", got)
	}
}

// Faster speeds apply to keys that wait already, and the end of a controller or of a
// call ends the waiting.
func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newPacedController(t)
		defer c.observer.Close()
		for name, end := range map[string]func(g *Gate, cancel func()){
			"full speed":          func(*Gate, func()) { c.set(t, observe.SpeedFull) },
			"the call":            func(_ *Gate, cancel func()) { cancel() },
			"the controller ends": func(g *Gate, _ func()) { g.EndPacing() },
		} {
			gate := NewPacedGate(ObjectReader{}, c.pace) // one that has ended stays so
			c.set(t, observe.SpeedStep)
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() { c.sync(ctx, "default/a", gate.ended) })
			synctest.Wait()
			if got := c.waiting(t); len(got) != 1 {
				t.Errorf("%s: %q wait", name, got)
			}
			end(gate, cancel)
			wg.Wait() // synctest fails if it does not end
			cancel()
			if got := c.waiting(t); len(got) != 0 {
				t.Errorf("%s: %q wait after the end", name, got)
			}
		}
	})
}

// Step by step, keys proceed in the order in which they began to wait, one for each call.
func TestStepReleasesOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newPacedController(t)
		defer c.observer.Close()
		if _, err := c.pace.StepKey(t.Context()); !errors.As(err, new(usage.Error)) {
			t.Errorf("at full speed: %v", err)
		}
		c.set(t, observe.SpeedStep)
		var wg sync.WaitGroup
		defer wg.Wait()
		for _, key := range []string{"default/a", "default/b"} {
			wg.Go(func() { c.sync(t.Context(), key, nil) })
			synctest.Wait()
		}
		key, err := c.pace.StepKey(t.Context())
		if err != nil || key.Controller != "web-controller" || key.Key != "default/a" || key.Waits {
			t.Errorf("released %+v, %v", key, err)
		}
		synctest.Wait()
		if got := c.waiting(t); len(got) != 1 || got[0] != "default/b" {
			t.Errorf("%q wait, want the second key only", got)
		}
		if key, err := c.pace.StepKey(t.Context()); err != nil || key.Key != "default/b" {
			t.Errorf("released %+v, %v", key, err)
		}
		wg.Go(func() { // a key that arrives while a step waits
			time.Sleep(control.StepTimeout / 2)
			c.sync(t.Context(), "default/c", nil)
		})
		if key, err := c.pace.StepKey(t.Context()); err != nil || key == nil || key.Key != "default/c" {
			t.Errorf("released %+v, %v", key, err)
		}
		if key, err := c.pace.StepKey(t.Context()); err != nil || key != nil {
			t.Errorf("without a key: %+v, %v", key, err)
		}
	})
}

// A write of a sync waits before it is sent; a call outside of a sync is not slowed down.
func TestCallsOfASyncWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newPacedController(t)
		defer c.observer.Close()
		c.set(t, observe.SpeedTenth)
		g, api := NewPacedGate(ObjectReader{}, c.pace), &fakeTransport{}
		send := func() time.Duration {
			began := time.Now()
			for range 2 {
				if err := sendRequest(t.Context(), gateTransport{api, g}, "POST", pods, "{}"); err != nil {
					t.Error(err)
				}
			}
			return time.Since(began)
		}
		if got := send(); got != 0 {
			t.Errorf("outside of a sync: %v", got)
		}
		s := c.queue.Begin("default/a", nil)
		defer s.End("")
		leave := s.Enter()
		got := send()
		leave()
		if want := observe.SpeedTenth.Delay(); got != want {
			t.Errorf("two calls of a sync took %v, want %v", got, want)
		}
	})
}
