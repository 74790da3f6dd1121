package clients

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A client that lists a resource again and again polls it, until it has made a pause that is longer than before.
func TestPolls(t *testing.T) {
	const namespaced, all, part = sites, "/apis/example.com/v1/sites", sites + "?continue=x"
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
