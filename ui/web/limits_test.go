package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestSessionsAreBounded(t *testing.T) {
	s := newSessions()
	var clock time.Time
	s.now = func() time.Time { clock = clock.Add(time.Second); return clock }
	operator, _, err := s.exchange(s.newOnceToken(), credentials{})
	if err != nil {
		t.Fatal(err)
	}
	class := s.newClassToken()
	first, _, err := s.exchange(class, credentials{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * maxSessions {
		if _, _, err := s.exchange(class, credentials{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.cookies) > maxSessions {
		t.Errorf("%d sessions", len(s.cookies))
	}
	if s.check(first).access != 0 {
		t.Error("the oldest session of a viewer still exists")
	}
	if s.check(operator).access != Operator {
		t.Error("viewers have ended the session of an operator")
	}
	for range 2 * maxTokens {
		s.newOnceToken()
	}
	if len(s.once) > maxTokens {
		t.Errorf("%d tokens", len(s.once))
	}
}

func TestPagesAreBounded(t *testing.T) {
	s := startServer(t, Options{})
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	for range maxStreams {
		s.streams <- struct{}{}
	}
	text := v.expect(http.StatusServiceUnavailable, "GET", "/api/stream", "", nil)
	if !strings.Contains(text, "too many pages") {
		t.Errorf("answer: %s", text)
	}
	<-s.streams
	v.stream().next("controllers")
}

// One viewer cannot use all streams and traces, neither with one session nor with many.
func TestViewersAreBounded(t *testing.T) {
	l := newLimits()
	for _, tc := range []struct {
		name    string
		keys    func(i int) []limit
		granted int
	}{
		{"one session", func(int) []limit { return streamUsage.limits("session", "192.0.2.1:1") }, maxSessionStreams},
		{"many sessions", func(i int) []limit {
			return streamUsage.limits(fmt.Sprint("s", i), fmt.Sprintf("192.0.2.2:%d", i))
		}, maxAddressStreams},
		{"on this machine", func(i int) []limit {
			return streamUsage.limits(fmt.Sprint("l", i), fmt.Sprintf("127.0.0.1:%d", i))
		}, maxStreams},
	} {
		granted := 0
		var releases []func()
		for i := range maxStreams {
			if release, ok := l.take(tc.keys(i)...); ok {
				granted++
				releases = append(releases, release)
			}
		}
		if granted != tc.granted {
			t.Errorf("%s: got %d, want %d", tc.name, granted, tc.granted)
		}
		for _, release := range releases {
			release()
		}
		if release, ok := l.take(tc.keys(0)...); !ok {
			t.Errorf("%s: nothing was released", tc.name)
		} else {
			release()
		}
	}
	if len(l.used) != 0 {
		t.Errorf("left: %v", l.used)
	}
}

// A class behind one address can make several traces, each page one. Other requests wait for their turn, and one
// that is canceled leaves nothing behind.
func TestTracesWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimits()
		type answer struct {
			release func()
			err     error
		}
		ask := func(ctx context.Context, session string) <-chan answer {
			got := make(chan answer, 1)
			go func() {
				release, err := l.takeTrace(ctx, session, "192.0.2.1:1")
				got <- answer{release, err}
			}()
			synctest.Wait()
			return got
		}
		var releases []func()
		for i := range maxAddressTraces {
			select {
			case a := <-ask(t.Context(), fmt.Sprint("s", i)):
				releases = append(releases, a.release)
			default:
				t.Fatalf("page %d has to wait", i)
			}
		}
		canceled, cancel := context.WithCancel(t.Context())
		next, other, left := ask(t.Context(), "s0"), ask(t.Context(), "other"), ask(canceled, "s0")
		if len(next)+len(other)+len(left) > 0 {
			t.Error("more traces are made than the limits allow")
		}
		cancel()
		if a := <-left; a.err == nil {
			t.Error("a request that was canceled has got its turn")
		}
		for _, release := range releases {
			release()
		}
		for _, got := range []<-chan answer{next, other} {
			a := <-got
			if a.err != nil {
				t.Fatal(a.err)
			}
			a.release()
		}
		if len(l.used) != 0 {
			t.Errorf("left: %v", l.used)
		}
	})
}

func TestRequestsForTracesAreBounded(t *testing.T) {
	l := newLimits()
	gone, cancel := context.WithCancel(t.Context())
	defer cancel()
	var waiting sync.WaitGroup
	refused := make(chan error, 2*maxSessionRequests)
	for range 2 * maxSessionRequests {
		waiting.Go(func() {
			if _, err := l.takeTrace(gone, "s", "127.0.0.1:1"); err != nil && gone.Err() == nil {
				refused <- err
			}
		})
	}
	for range maxSessionRequests {
		if err := <-refused; err.Error() != "too many traces for this page are being made: try again" {
			t.Error(err)
		}
	}
	cancel()
	waiting.Wait()
	if len(refused) > 0 {
		t.Errorf("%d more requests were refused", len(refused))
	}
}
