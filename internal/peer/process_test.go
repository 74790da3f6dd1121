package peer

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func requestFrom(a *address) *http.Request {
	return httptest.NewRequestWithContext(context.WithValue(context.Background(), http.LocalAddrContextKey, a), http.MethodGet, "/", nil)
}

// Look-ups do not delay requests. One is made at a time, and one for each connection.
func TestFindInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, most, n := 0, 0, 0
		look, ids := make(chan struct{}), newLookups()
		newAddress := func(id int) *address {
			return &address{lookups: ids, find: func() (process, bool) {
				running++
				most, n = max(most, running), n+1
				<-look
				running--
				return process{id: id}, true
			}}
		}
		a, b := newAddress(1), newAddress(2)
		first, second, other := Find(requestFrom(a)), Find(requestFrom(a)), Find(requestFrom(b))
		if first != second || first.ID()+other.ID() != "" {
			t.Errorf("got %q and %q", first.ID(), other.ID())
		}
		later := ""
		first.WhenDone(func() { later = first.ID() })
		synctest.Wait()
		close(look)
		synctest.Wait()
		if first.ID() != "1" || later != "1" || other.ID() != "2" || Find(requestFrom(a)) != first {
			t.Errorf("got %q, %q and %q", first.ID(), later, other.ID())
		}
		if most != 1 || n != 2 || ids.n.Load() != 0 {
			t.Errorf("%d look-ups of %d at once, %d left", most, n, ids.n.Load())
		}
	})
}

// What was not found is looked for again by the next request.
func TestFindAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		a := &address{lookups: newLookups(), find: func() (process, bool) { n++; return process{id: n}, n > 1 }}
		got := ""
		for range 4 {
			p := Find(requestFrom(a))
			synctest.Wait()
			got += p.ID() + " "
		}
		if got != " 2 2 2 " || n != 2 {
			t.Errorf("got %q after %d look-ups", got, n)
		}
	})
}

// All requests over a connection over HTTP/2 have the same process: its connection stands for one that was not found.
func TestFindOverHTTP2(t *testing.T) {
	full := newLookups()
	full.n.Store(maxLookups)
	for name, test := range map[string]struct {
		lookups *lookups
		finds   []bool // the look-ups
		want    string
	}{
		"found":     {newLookups(), []bool{true}, "7 7"},
		"not found": {newLookups(), []bool{false, true}, "10.0.0.1:1 10.0.0.1:1"},
		"too many":  {full, []bool{true}, "10.0.0.1:1 10.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				a := &address{lookups: test.lookups, find: func() (process, bool) {
					n++
					return process{id: 7}, test.finds[n-1]
				}}
				find := func() *Process {
					req := requestFrom(a)
					req.ProtoMajor, req.RemoteAddr = 2, "10.0.0.1:1"
					return Find(req)
				}
				first := find()
				if got := find().ID(); got != "10.0.0.1:1" {
					t.Errorf("before the look-up has ended: got %q", got)
				}
				synctest.Wait()
				test.lookups.n.Store(0) // there is room now
				if got := first.ID() + " " + find().ID(); got != test.want || find() != first {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		})
	}
}

func TestTooManyLookups(t *testing.T) {
	full := newLookups()
	full.n.Store(maxLookups)
	if p := Find(requestFrom(&address{lookups: full})); p != nil || p.ID() != "" || full.n.Load() != maxLookups {
		t.Errorf("got %q, %d", p.ID(), full.n.Load())
	}
}

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began := NewProcess(), time.Now()
		took := func(p *Process, ctx context.Context) time.Duration {
			defer func() { began = time.Now() }()
			p.Await(ctx, time.Second)
			return time.Since(began)
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		got := []time.Duration{took(nil, t.Context()), took(p, t.Context()), took(p, canceled)}
		time.AfterFunc(time.Millisecond, func() { p.Finish("1") })
		got = append(got, took(p, t.Context()), took(p, t.Context()))
		if want := []time.Duration{0, time.Second, 0, time.Millisecond, 0}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// An answer waits only for a look-up that is next: the others of a flood take too long.
func TestAwaitBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids, look := newLookups(), make(chan struct{})
		find := func() (process, bool) { <-look; return process{id: 1}, true }
		await := func(p *Process) time.Duration { return p.Await(t.Context(), time.Second) }
		first := Find(requestFrom(&address{lookups: ids, find: find}))
		alone := await(first)
		second := Find(requestFrom(&address{lookups: ids, find: find}))
		got := []time.Duration{alone, await(first), await(second)}
		close(look)
		if want := []time.Duration{time.Second, 0, 0}; !slices.Equal(got, want) {
			t.Errorf("waited %v, want %v", got, want)
		}
	})
}
