package clients

import (
	"net/http"
	"testing"

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

// Requests do not wait until their process is known.
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
	s.isFoundIn(20)
	s.write(siteAdded, "POST", deployments, web(8))
	s.isFoundIn(0)
	ms(4)
	s.write(siteAdded, "POST", services, owned("Service", "web", "s1", "9"))
	ms(20)
}
