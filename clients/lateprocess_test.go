package clients

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/peer"
)

// isFoundIn makes the look-up of the process of each connection take a while.
func (s *script) isFoundIn(milliseconds int) {
	s.clients.processOf = func(req *http.Request) *peer.Process {
		p, name := peer.NewProcess(), req.Context().Value(processKey{}).(string)
		go func() { ms(milliseconds); p.Finish(name) }()
		return p
	}
}

// A process may be known only after the answer.
func TestCausesOfProcessesKnownLater(t *testing.T) {
	for name, test := range map[string]struct {
		play func(s *script)
		want tally
	}{
		"a list and a watch": {playLateWatch, tally{right: 2}},
		"a watch continues":  {playLateNext, tally{right: 2}},
		"a late write":       {playLateWrite, tally{right: 1, unknown: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := runScript(t, test.play); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func playLateWatch(s *script) {
	s.process = "1"
	s.isFoundIn(20)
	s.list(sites)
	send, _ := s.watched(sites + "?watch=1&resourceVersion=5")
	ms(40)
	s.isFoundIn(0)
	s.write(siteListed, "POST", deployments, web(8))
	ms(2000)
	send("MODIFIED", site(9))
	ms(4)
	s.write("Site ns/shop updated 9", "PATCH", sites+"/shop/status", site(10))
}

func playLateNext(s *script) {
	s.process = "1"
	s.isFoundIn(20)
	send, end := s.watched(sites + "?watch=1&resourceVersion=5")
	send("ADDED", site(7))
	ms(40)
	s.isFoundIn(0)
	s.write(siteAdded, "POST", deployments, web(8))
	s.isFoundIn(20)
	end()
	_, endNext := s.watched(sites + "?watch=1&resourceVersion=7")
	endNext()
	s.watch(sites + "?watch=1&resourceVersion=7")
	ms(3000)
	s.isFoundIn(0)
	s.write(siteAdded, "POST", services, owned("Service", "web", "s1", "9"))
}

// What is not known when its cause is searched counts as not known.
func playLateWrite(s *script) {
	s.process = "1"
	s.isFoundIn(0)
	send, _ := s.watched(sites + "?watch=1&resourceVersion=5")
	send("ADDED", site(7))
	ms(4)
	s.isFoundIn(300)
	s.write(siteAdded, "POST", deployments, web(8))
	s.isFoundIn(0)
	ms(4)
	s.write(siteAdded, "POST", services, owned("Service", "web", "s1", "9"))
	ms(300)
}

// closingConn is the connection of a request after whose answer the client closes it.
type closingConn struct {
	*httptest.ResponseRecorder
	close func()
}

func (c closingConn) Write(p []byte) (int, error) {
	defer c.close()
	return c.ResponseRecorder.Write(p)
}

// closeAfter sends a request over a connection of its own, as Python's urllib does. Its process can be found as long as that is open.
func (s *script) closeAfter(method, path, answer string) {
	req := s.newRequest(method, path, "{}")
	ctx, closeConn := context.WithCancel(req.Context())
	defer closeConn()
	req.RemoteAddr = "127.0.0.1:" + path
	s.expect("", method)
	s.clients.Handle(closingConn{httptest.NewRecorder(), closeConn}, req.WithContext(ctx), s.user(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		ms(1)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer)
	}))
}

// isFoundWhileOpen makes the look-up of a process take a while, and fail if the connection is closed meanwhile.
func (s *script) isFoundWhileOpen(milliseconds int) {
	s.clients.processOf = func(req *http.Request) *peer.Process {
		p, name := peer.NewProcess(), req.Context().Value(processKey{}).(string)
		go func() {
			ms(milliseconds)
			if req.Context().Err() != nil {
				name = ""
			}
			p.Finish(name)
		}()
		return p
	}
}

// Of a write whose process is not found, the last event of the watches of the client is said.
func TestLastEventOfShortConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{fixture: newFixture(t), truth: map[string]string{}, process: "1"}
		s.isFoundWhileOpen(10)
		s.closeAfter("GET", sites, "{}")
		send := s.watch(sites + "?watch=1&resourceVersion=5")
		ms(20)
		send("ADDED", site(7))
		ms(4)
		s.isFoundWhileOpen(5000)
		s.closeAfter("POST", deployments, web(8))
		ms(6000)
		if got, want := s.causes(""), []string{"after 4ms Site ns/shop added"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// A program that opens a connection for each request lists, and works for what it has found.
func TestCausesOfShortConnections(t *testing.T) {
	found := func(s *script) { s.isFoundWhileOpen(10) }
	never := func(s *script) { s.isFoundWhileOpen(5000) }
	for name, test := range map[string]struct {
		list, write func(s *script)
		want        string
	}{
		"found":             {found, found, siteListed},
		"never found":       {never, never, siteListed},
		"of the list only":  {found, never, "after nothing"},
		"of the write only": {never, found, "after nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{fixture: newFixture(t), truth: map[string]string{}, process: "1"}
				test.list(s)
				s.closeAfter("GET", sites, "{}")
				ms(4)
				test.write(s)
				s.closeAfter("POST", deployments, web(8))
				s.watch(sites + "?watch=1&resourceVersion=5")
				ms(6000)
				if got := s.causes(""); len(got) != 1 || got[0] != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		})
	}
}

// The API server has not taken longer because an answer waits for the process.
func TestTookHasNoWaitForTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{fixture: newFixture(t), truth: map[string]string{}, process: "1"}
		s.isFoundWhileOpen(10)
		s.closeAfter("GET", sites, "{}")
		calls, _ := s.records()
		if len(calls) != 1 || calls[0].Took != time.Millisecond {
			t.Errorf("got %+v, want one call that took 1 ms", calls)
		}
	})
}
