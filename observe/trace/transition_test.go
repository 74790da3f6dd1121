package trace

import (
	"encoding/json"
	"fmt"
	"slices"
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
		want := tc.became
		if tc.deleting { // that is what counts
			want = ""
		}
		event := chain.Links[slices.IndexFunc(chain.Links, func(n *Node) bool { return n.Kind == Event })]
		if data, err := json.Marshal(event); err != nil || strings.Contains(string(data), fmt.Sprintf(`"became":%q`, tc.became)) != (want != "") {
			t.Errorf("want %q in %s; %v", want, data, err)
		}
	}
}

// A Pod that alternates between Ready and not Ready does not become Ready again and again.
func TestRoundsOfAlternatingTransitions(t *testing.T) {
	var j journal
	web := pod("web-1")
	j.add(&observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{User: "admin"}, Verb: "update", Subresource: "status", Object: web, Status: 200, ResourceVersion: "5"})
	for i := range 7 {
		became := []observe.Transition{observe.BecameReady, observe.BecameNotReady}[i%2]
		add := uint64(i + 1)
		event := j.add(&observe.Delivered{Controller: "c", Change: observe.Updated, Object: web, ResourceVersion: fmt.Sprint(5 + i), Queues: []string{"c"}, Adds: []uint64{add}, Became: became})
		j.add(&observe.Called{Controller: "c", Verb: "update", Subresource: "status", Object: web, Status: 200, ResourceVersion: fmt.Sprint(6 + i), Sync: add})
		j.add(&observe.Synced{Controller: "c", Queue: "c", ID: add, Key: "default/web-1", KeyBasis: observe.BasisLog, Add: add, LastAdd: add, Cause: event, Sure: true, Took: time.Millisecond, Writes: 1})
	}
	chain, err := Why(j.records, web, Options{What: Changed})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Build(j.records, web, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{writeString(t, chain, Text, Style{}), writeString(t, tree, Text, Style{})} {
		if !strings.Contains(got, "become Ready") || !strings.Contains(got, "become not Ready") {
			t.Errorf("only one of two transitions is shown:\n%s", got)
		}
	}
}

// A client is sent versions without the one before: what a Pod has become with one is known if a controller has received it.
func TestTransitionsOfClients(t *testing.T) {
	web := deployment("web")
	for _, tc := range []struct {
		version, want string
	}{
		{"6", "because Pod web-1 became Ready."},
		{"7", "because Pod web-1 was updated."},
	} {
		var j journal
		j.add(&observe.Delivered{Controller: "c", Change: observe.Updated, Object: pod("web-1"), ResourceVersion: "6", Became: observe.BecameReady})
		cause := j.add(&observe.Delivered{Controller: "operator (admin)", Change: observe.Updated, Object: pod("web-1"), ResourceVersion: tc.version})
		j.add(&observe.Called{Controller: "operator (admin)", Client: &observe.Caller{User: "admin"}, Verb: "patch", Object: web, Status: 200, ResourceVersion: "8", Cause: cause})
		chain, err := Why(j.records, web, Options{What: Changed})
		if err != nil {
			t.Fatal(err)
		}
		if got := writeString(t, chain, Text, Style{}); !strings.Contains(got, tc.want) {
			t.Errorf("version %s: no %q in\n%s", tc.version, tc.want, got)
		}
	}
}
