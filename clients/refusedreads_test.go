package clients

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A program that tries at its start whether an optional API is served, several times at once, is not refused it again and
// again, as an informer is.
func TestProbesOfOptionalAPIs(t *testing.T) {
	var r refusedReads
	now := time.Now()
	after := func(passed time.Duration, want string) {
		t.Helper()
		now = now.Add(passed)
		r.note(&observe.Called{Verb: "list", Object: observe.Object{Resource: "sites", Group: "example.com"}, Status: 404, Error: "no"}, now)
		if got := r.describe(time.Time{}, now, refusedOften); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for range 2 * refusedOften {
		after(5*time.Millisecond, "")
	}
	after(800*time.Millisecond, "")
	after(5*time.Millisecond, "")
	after(1600*time.Millisecond, "list of sites.example.com is refused: no")
	after(5*time.Millisecond, "list of sites.example.com is refused: no")
}

// Refused reads are reported however many others were refused before, and a bounded number is kept.
func TestRefusedReadsOfManyResources(t *testing.T) {
	var r refusedReads
	now := time.Now()
	refuse := func(resource string) {
		for range refusedOften {
			r.note(&observe.Called{Verb: "list", Object: observe.Object{Resource: resource}, Status: 403, Error: "no"}, now)
		}
	}
	for range 3 { // informers ask in turn
		for i := range 2 * maxRefusedReads {
			refuse(fmt.Sprint("past", i))
		}
	}
	if len(r.byResource) != maxRefusedReads || r.describe(time.Time{}, now, refusedOften) == "" {
		t.Errorf("%d resources: %s", len(r.byResource), r.describe(time.Time{}, now, refusedOften))
	}
	now = now.Add(refusedTime + 1)
	refuse("configmaps")
	if got := r.describe(time.Time{}, now, refusedOften); !strings.Contains(got, "list of configmaps is refused: no") {
		t.Errorf("got %q", got)
	}
}

// A process that has ended is not refused anything any more: its other watches have ended after the last refusal.
func TestRefusedReadsOfAProcessThatHasEnded(t *testing.T) {
	var r refusedReads
	now := time.Now()
	for range refusedOften {
		now = now.Add(time.Second)
		r.note(&observe.Called{Verb: "watch", Object: observe.Object{Resource: "sites"}, Status: 403, Error: "no"}, now)
	}
	if got := r.describe(now.Add(-time.Second), now, refusedOften); got == "" {
		t.Error("a process that asks after one of its watches has ended is not said to be refused")
	}
	if got := r.describe(now.Add(time.Second), now.Add(2*time.Second), refusedOften); got != "" {
		t.Errorf("after the end: %s", got)
	}
}
