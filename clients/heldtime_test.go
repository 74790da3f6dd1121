package clients

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// What ctrlplane holds, delays or fails does not change the causes of what a program writes.
func TestCausesDuringInterventions(t *testing.T) {
	for name, test := range map[string]struct {
		play func(s *script)
		want tally
	}{
		"delayed reads":                             {playDelayedReads, tally{right: 4}},
		"a change while a write is held":            {func(s *script) { playChangeWhileHeld(s, 8000) }, tally{right: 5}},
		"a pause longer than a minute":              {playLongPause, tally{right: 3}},
		"two writes of an object held together":     {playHeldTogether, tally{right: 5}},
		"a change while a write is held for long":   {func(s *script) { playChangeWhileHeld(s, 90_000) }, tally{right: 5}},
		"injected conflicts":                        {func(s *script) { playInjectedConflicts(s, false) }, tally{right: 6}},
		"injected conflicts of several controllers": {func(s *script) { playInjectedConflicts(s, true) }, tally{right: 8}},
		"a former object of several controllers":    {playFormerObject, tally{right: 3}},
		"a delayed renewal of a Lease":              {func(s *script) { playBesideLease(s, "PUT", 42) }, tally{right: 44}},
		"a delayed read of a Lease":                 {func(s *script) { playBesideLease(s, "GET", 42) }, tally{right: 2}},
		"a delayed poll":                            {func(s *script) { playBesidePoll(s, 500*time.Millisecond, 300, 1500) }, tally{right: 5}},
		"a delayed poll without pauses":             {func(s *script) { playBesidePoll(s, 2*time.Second, 10, 20_000) }, tally{right: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := runScript(t, test.play); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// intervene changes what the client of the script may do.
func (s *script) intervene(change control.Change) {
	if _, err := s.clients.Interventions().Change(s.Context(), []string{"shop-operator"}, change); err != nil {
		s.Error(err)
	}
}

func (s *script) read(path, answer string) {
	s.request("GET", path, "", func(w http.ResponseWriter) { ms(1); _, _ = w.Write([]byte(answer)) })
}

// A sync reads what it has no watch for between its writes. Each call is delayed.
func playDelayedReads(s *script) {
	send, sendConfig := s.watch(sites+"?watch=1"), s.watch(settings+"?watch=1")
	ms(5000)
	s.intervene(control.Change{Verb: control.Delay, Delay: 2 * time.Second})
	send("ADDED", site(7))
	ms(4)
	s.read(secrets+"/token", object("Secret", "token", "t1", "2"))
	s.write(siteAdded, "PATCH", sites+"/shop", site(8))
	send("MODIFIED", site(8))
	s.read(secrets+"/token", object("Secret", "token", "t1", "2"))
	s.read(secrets+"/other", object("Secret", "other", "t2", "3"))
	s.write(siteAdded, "POST", settings, ofShop("ConfigMap", 9))
	sendConfig("ADDED", ofShop("ConfigMap", 9))
	s.read(secrets+"/token", object("Secret", "token", "t1", "2"))
	s.write(siteAdded, "POST", services, ofShop("Service", 10))
	s.intervene(control.Change{Verb: control.Clear})
	ms(3000)
	send("MODIFIED", site(20))
	ms(4)
	s.write("Site ns/shop updated 20", "PATCH", sites+"/shop/status", site(21))
}

// heldFor sends a write while the client is paused, and calls do meanwhile.
func (s *script) heldFor(do func(), writes ...func()) {
	s.intervene(control.Change{Verb: control.Pause})
	var held sync.WaitGroup
	held.Go(func() { s.together(writes...) })
	do()
	s.intervene(control.Change{Verb: control.Resume})
	held.Wait()
}

// The only worker of a program waits for a write that is held, while an object is created.
func playChangeWhileHeld(s *script, rest int) {
	send := s.watch(sites + "?watch=1")
	other := func(version string) string { return object("Site", "other", "u2", version) }
	ms(5000)
	send("ADDED", site(7))
	ms(4)
	s.heldFor(func() {
		ms(3000)
		send("ADDED", other("8"))
		ms(rest)
	}, func() { s.write(siteAdded, "PATCH", sites+"/shop", site(9)) })
	send("MODIFIED", site(9))
	ms(2)
	s.write(siteAdded, "POST", settings, ofShop("ConfigMap", 10))
	ms(2)
	s.write("Site ns/other added 8", "PATCH", sites+"/other", other("11"))
	send("MODIFIED", other("11"))
	ms(2)
	s.write("Site ns/other added 8", "POST", services, object("Service", "of-other", "s2", "12", "u2"))
	ms(2)
	s.write("Site ns/other added 8", "PATCH", sites+"/other/status", other("13"))
}

func playLongPause(s *script) {
	send := s.watch(sites + "?watch=1")
	send("ADDED", site(7))
	ms(4)
	s.heldFor(func() { ms(90_000) }, func() { s.write(siteAdded, "PATCH", sites+"/shop", site(9)) })
	ms(2)
	s.write(siteAdded, "POST", settings, ofShop("ConfigMap", 10))
	ms(2)
	s.write(siteAdded, "POST", services, ofShop("Service", 11))
}

// Two controllers write an object, which they do one after the other unless the first write is held.
func playHeldTogether(s *script) {
	send, sendService := s.watch(sites+"?watch=1"), s.watch(services+"?watch=1")
	send("ADDED", site(7))
	ms(4)
	s.heldFor(func() { ms(8000) },
		func() { s.write(siteAdded, "PATCH", sites+"/shop", site(8)) },
		func() { s.write(siteAdded, "PATCH", sites+"/shop/status", site(9)) },
	)
	ms(5000)
	send("MODIFIED", site(20))
	ms(200) // it is busy elsewhere
	s.write("Site ns/shop updated 20", "POST", services, ofShop("Service", 21))
	sendService("ADDED", ofShop("Service", 21))
	ms(40)
	s.write("Site ns/shop updated 20", "POST", settings, ofShop("ConfigMap", 22))
	ms(40)
	s.write("Site ns/shop updated 20", "PATCH", sites+"/shop/status", site(23))
}

// Nothing has modified the object of a write that fails with an injected conflict.
func playInjectedConflicts(s *script, isShared bool) {
	send, sendConfig := s.watch(sites+"?watch=1"), s.watch(settings+"?watch=1")
	send("ADDED", site(7))
	sendConfig("ADDED", owned("ConfigMap", "of-shop", "c1", "8"))
	if isShared {
		ms(4)
		s.writeTogether()
	}
	ms(10_000)
	send("MODIFIED", site(11))
	ms(4)
	s.intervene(control.Change{Verb: control.Fail, Fault: observe.Fault{Rate: 1, Code: "409"}})
	for _, pause := range []int{50, 1000, 4000, 8000} {
		s.write("Site ns/shop updated 11", "PUT", settings+"/of-shop", "")
		ms(pause)
	}
	s.intervene(control.Change{Verb: control.Clear})
	s.write("Site ns/shop updated 11", "PUT", settings+"/of-shop", owned("ConfigMap", "of-shop", "c1", "12"))
	sendConfig("MODIFIED", owned("ConfigMap", "of-shop", "c1", "12"))
	ms(4)
	s.write("Site ns/shop updated 11", "PATCH", sites+"/shop/status", site(13))
}

// writeTogether shows that a program has several controllers.
func (s *script) writeTogether() {
	s.together(
		func() { s.write(siteAdded, "PATCH", sites+"/shop", site(9)) },
		func() { s.write(siteAdded, "PATCH", sites+"/shop/status", site(10)) },
	)
}

// A program with several controllers creates an object again that a user has deleted.
func playFormerObject(s *script) {
	send, sendSecret := s.watch(sites+"?watch=1"), s.watch(secrets+"?watch=1")
	send("ADDED", site(7))
	sendSecret("ADDED", owned("Secret", "cred", "s1", "8"))
	ms(4)
	s.writeTogether()
	ms(10_000)
	sendSecret("DELETED", owned("Secret", "cred", "s1", "20"))
	ms(4)
	s.write("Secret ns/cred deleted 20", "POST", secrets, owned("Secret", "cred", "s2", "21"))
}

// beside does something else while it plays.
func beside(other, play func()) {
	var done sync.WaitGroup
	done.Go(other)
	play()
	done.Wait()
}

// A program asks for its Lease all the time, which is delayed. A timer creates an object more than a minute after an event.
func playBesideLease(s *script, method string, times int) {
	send := s.watch(sites + "?watch=1")
	ms(5000)
	s.intervene(control.Change{Verb: control.Delay, Delay: 2 * time.Second})
	beside(func() {
		for i := range times {
			if method != "GET" {
				s.expect("none", method)
			}
			s.request(method, "/apis/coordination.k8s.io/v1/namespaces/ns/leases/lock", "{}", func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(object("Lease", "lock", "l1", fmt.Sprint(1000+i))))
			})
			ms(100)
		}
	}, func() {
		send("ADDED", site(7))
		ms(4)
		s.write(siteAdded, "PATCH", sites+"/shop/status", site(9))
		send("MODIFIED", site(9))
		ms(80_000)
		s.write("", "POST", settings, owned("ConfigMap", "report", "c1", "30"))
	})
}

// A program reads an object again and again, which is delayed. Apart from that, a timer writes a status.
func playBesidePoll(s *script, delay time.Duration, pollPause, timer int) {
	send := s.watch(sites + "?watch=1")
	ms(5000)
	s.intervene(control.Change{Verb: control.Delay, Delay: delay})
	beside(func() {
		for range 50 {
			s.read("/apis/example.com/v1/namespaces/ns/backups/x", object("Backup", "x", "b1", "2"))
			ms(pollPause)
		}
	}, func() {
		send("ADDED", site(7))
		ms(4)
		s.write(siteAdded, "PATCH", sites+"/shop/status", site(20))
		send("MODIFIED", site(20))
		for i := range 4 {
			ms(timer)
			s.write("", "PATCH", sites+"/shop/status", site(21+i))
			send("MODIFIED", site(21+i))
		}
	})
}

// A call that was held first may be answered last.
func TestHeldTimes(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(1000+int64(n), 0) }
	var h heldTimes
	for _, p := range [][2]int{{50, 52}, {0, 2}, {60, 64}, {20, 23}, {22, 25}, {1, 3}, {63, 70}} {
		h.add(heldPeriod{at(p[0]), at(p[1])})
	}
	want := heldTimes{{at(0), at(3)}, {at(20), at(25)}, {at(50), at(52)}, {at(60), at(70)}}
	if !slices.Equal(h, want) {
		t.Errorf("got %v, want %v", h, want)
	}
	for _, tt := range []struct{ from, d, want int }{{70, 10, 48}, {66, 10, 48}, {80, 5, 75}, {30, 10, 15}, {10, 9, -2}} {
		if got := h.before(at(tt.from), time.Duration(tt.d)*time.Second); !got.Equal(at(tt.want)) {
			t.Errorf("%d s before %d: got %d, want %d", tt.d, tt.from, got.Unix()-1000, tt.want)
		}
	}
}

// Only reads that follow one after the other until the write are of the work that ends with it.
func TestWorkedSince(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	for name, test := range map[string]struct {
		reads [][2]int
		want  int // of 5000 ms
	}{
		"none":                        {nil, 5000},
		"one after the other":         {[][2]int{{-900, -10}, {10, 2010}, {2050, 4990}}, 60},
		"a poll before":               {[][2]int{{-500, 300}, {900, 2900}, {2950, 4950}}, 5000},
		"a pause between":             {[][2]int{{10, 2010}, {2300, 4950}}, 5000},
		"a pause at the end":          {[][2]int{{10, 2010}, {2020, 4700}}, 5000},
		"a poll that is not answered": {[][2]int{{10, 2010}, {2020, 5500}}, 5000},
	} {
		w := &write{began: at(5000)}
		for _, r := range test.reads {
			w.heldReads.add(heldPeriod{at(r[0]), at(r[1])})
		}
		if got := w.since(at(0)); got != time.Duration(test.want)*time.Millisecond {
			t.Errorf("%s: got %v, want %d ms", name, got, test.want)
		}
	}
}
