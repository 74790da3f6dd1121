package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestSessionsAreBounded(t *testing.T) {
	s := newSessions()
	var clock time.Time
	s.now = func() time.Time { clock = clock.Add(time.Second); return clock }
	operator, err := s.exchange(s.newOnceToken())
	if err != nil {
		t.Fatal(err)
	}
	class := s.newClassToken()
	first, err := s.exchange(class)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * maxSessions {
		if _, err := s.exchange(class); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.cookies) > maxSessions {
		t.Errorf("%d sessions", len(s.cookies))
	}
	if s.check(first.cookie, first.key).access != 0 {
		t.Error("the oldest session of a viewer still exists")
	}
	if s.check(operator.cookie, operator.key).access != Operator {
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
		{"one session", func(int) []limit { return viewerLimits("session", "192.0.2.1:1", maxSessionStreams, maxAddressStreams) }, maxSessionStreams},
		{"many sessions", func(i int) []limit {
			return viewerLimits(fmt.Sprint("s", i), fmt.Sprintf("192.0.2.2:%d", i), maxSessionStreams, maxAddressStreams)
		}, maxAddressStreams},
		{"on this machine", func(i int) []limit {
			return viewerLimits(fmt.Sprint("l", i), fmt.Sprintf("127.0.0.1:%d", i), maxSessionStreams, maxAddressStreams)
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

// A class behind one address can make several traces, each page one.
func TestTracesBehindOneAddress(t *testing.T) {
	l := newLimits()
	var releases []func()
	for i := range 4 {
		release, err := l.takeTrace(fmt.Sprint("s", i), fmt.Sprintf("192.0.2.1:%d", i))
		if err != nil {
			t.Fatalf("page %d: %v", i, err)
		}
		releases = append(releases, release)
	}
	for session, want := range map[string]string{
		"s0":    "a trace of this page is being made: wait for it",
		"other": "a trace for another page at your address is being made: try again",
	} {
		if _, err := l.takeTrace(session, "192.0.2.1:9"); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %q", session, err, want)
		}
	}
	for _, release := range releases {
		release()
	}
	if len(l.used) != 0 {
		t.Errorf("left: %v", l.used)
	}
}
