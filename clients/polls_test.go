package clients

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A client that lists a resource again and again polls it, until it has made a pause that is longer than before.
func TestPolls(t *testing.T) {
	const namespaced, all, part, first = sites, "/apis/example.com/v1/sites", sites + "?continue=x", sites + "?limit=500&continue="
	for name, tc := range map[string]struct {
		paths  []string
		pause  time.Duration // after each
		status int
		later  time.Duration
		want   bool
	}{
		"polls":                 {[]string{namespaced, namespaced, namespaced}, 2 * time.Second, 200, 0, true},
		"in several namespaces": {[]string{namespaced, all, namespaced}, 2 * time.Second, 200, 0, true},
		"rarely":                {[]string{namespaced, namespaced, namespaced}, 5 * time.Minute, 200, 4 * time.Minute, true},
		"twice":                 {[]string{namespaced, namespaced}, 2 * time.Second, 200, 0, false},
		"in parts":              {[]string{namespaced, part, part, part}, 2 * time.Second, 200, 0, false},
		"first parts":           {[]string{first, part, first, part, first}, 2 * time.Second, 200, 0, true},
		"is refused":            {[]string{namespaced, namespaced, namespaced}, 2 * time.Second, 403, 0, false},
		"waits for an object":   {slices.Repeat([]string{namespaced}, 15), 100 * time.Millisecond, 200, 0, false},
		"now and then":          {[]string{namespaced, namespaced, namespaced}, 11 * time.Minute, 200, 0, false},
		"has stopped":           {[]string{namespaced, namespaced, namespaced}, 2 * time.Second, 200, 5 * time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			for _, path := range tc.paths {
				f.operate(http.MethodGet, path, tc.status, "{}")
				time.Sleep(tc.pause)
			}
			time.Sleep(tc.later)
			list := f.clients.Snapshot()
			if len(list) != 1 {
				t.Fatalf("%s: clients are %v", name, list)
			}
			polls := list[0].Polls
			if got := len(polls) == 1 && polls[0].Resource == "sites.example.com" && polls[0].Last.After(polls[0].Since); got != tc.want {
				t.Errorf("%s: polled are %v", name, polls)
			}
		})
	}
}

// An informer lists once, and watches then: several starts of a program in a row are not polling, nor are several of an informer that
// lists again. A program that polls one kind may watch another.
func TestListsBeforeWatchesAreNotPolls(t *testing.T) {
	for watched, want := range map[string]int{sites: 0, deployments: 1} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			for range 5 {
				f.operate(http.MethodGet, sites, 200, "{}")
				_, end := f.watch(watched+"?watch=1&resourceVersion=5", operatorAgent, operator)
				time.Sleep(20 * time.Second)
				end()
			}
			if polls := f.clients.Snapshot()[0].Polls; len(polls) != want {
				t.Errorf("with a watch of %s: polled are %v", watched, polls)
			}
		})
	}
}

// A series of lists that has ended makes room for others.
func TestEndedPollsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		for i := range maxPolled {
			f.operate(http.MethodGet, fmt.Sprintf("/apis/example.com/v1/k%d", i), 200, "{}")
		}
		for range pollingOften {
			time.Sleep(maxPollPause - time.Second)
			f.operate(http.MethodGet, sites, 200, "{}")
		}
		if polls := f.clients.Snapshot()[0].Polls; len(polls) != 0 { // in the first pause there was no room
			t.Errorf("polled are %v", polls)
		}
		time.Sleep(maxPollPause - time.Second)
		f.operate(http.MethodGet, sites, 200, "{}")
		if polls := f.clients.Snapshot()[0].Polls; len(polls) != 1 {
			t.Errorf("polled are %v", polls)
		}
	})
}

// Lists at the same time may be answered in another order than that in which they began.
func TestPollsAnsweredInAnotherOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p polls
		for _, began := range []time.Duration{0, 2, 4, 3} {
			r := &request{req: httptest.NewRequest(http.MethodGet, sites, nil), call: &observe.Called{Began: time.Now().Add(began * time.Second)}}
			p.note(r)
		}
		if list := p.snapshot(time.Now().Add(5 * time.Second)); len(list) != 1 || list[0].Last.Sub(list[0].Since) != 4*time.Second {
			t.Errorf("polled are %+v", list)
		}
	})
}
