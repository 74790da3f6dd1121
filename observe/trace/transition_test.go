package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// What a Pod or a Node has become is said in place of "updated", unless it was marked as deleted.
func TestTransitions(t *testing.T) {
	at, web := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), deployment("web")
	for _, tc := range []struct {
		became    observe.Transition
		deleting  bool
		why, sees string
	}{
		{"", false, "was updated", "updated"},
		{observe.BecameReady, false, "became Ready", "become Ready"},
		{observe.BecameNotReady, false, "became not Ready", "become not Ready"},
		{observe.BecameSucceeded, false, "succeeded", "succeed"},
		{observe.BecameFailed, false, "failed", "fail"},
		{observe.BecameNotReady, true, "was marked as deleted", "marked as deleted"},
		{"of a later version", false, "was updated", "updated"},
	} {
		records := []observe.Record{
			{Seq: 1, Time: at, Event: &observe.Delivered{Controller: "c", Change: observe.Updated, Object: pod("web-1"), ResourceVersion: "6", Queues: []string{"c"}, Adds: []uint64{1}, Became: tc.became, Deleting: tc.deleting}},
			{Seq: 2, Time: at.Add(2 * time.Millisecond), Event: &observe.Called{Controller: "c", Verb: "update", Subresource: "status", Object: web, Status: 200, ResourceVersion: "7", Began: at.Add(time.Millisecond), Took: time.Millisecond, Sync: 1}},
			{Seq: 3, Time: at.Add(3 * time.Millisecond), Event: &observe.Synced{Controller: "c", Queue: "c", ID: 1, Key: "default/web", KeyBasis: observe.BasisLog, Add: 1, LastAdd: 1, Cause: 1, Sure: true, Took: 2 * time.Millisecond, Writes: 1}},
		}
		chain, err := Why(records, web, Options{What: Changed})
		if err != nil {
			t.Fatal(err)
		}
		got := writeString(t, chain, Text, Style{})
		for _, want := range []string{"\nc updated Deployment web status because Pod web-1 " + tc.why + ".", "c saw Pod web-1 " + tc.sees + "\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", tc.became, want, got)
			}
		}
		if got, want := writeString(t, chain, Mermaid, Style{}), "Pod web-1 "+strings.TrimPrefix(tc.why, "was "); !strings.Contains(got, want) {
			t.Errorf("%s: no %q in\n%s", tc.became, want, got)
		}
	}
}
