package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A write that only likely belongs to a sync is drawn so on the line that it shares with that.
func TestLikelyWritesOnOneLineAreMarked(t *testing.T) {
	sync := &Node{ID: "s1", Kind: Sync, Controller: "c", Cause: &Cause{ID: "r1", Certainty: Certain, Rule: ByAdd}, Key: "default/web"}
	write := &Node{ID: "r2", Kind: Call, Verb: "update", Status: 200, Object: &observe.Object{Kind: "Pod", Name: "web"}, Cause: &Cause{ID: "s1", Certainty: Likely, Rule: ByKey}}
	sync.Children = []*Node{write}
	event := &Node{ID: "r1", Kind: Event, Controller: "c", Change: observe.Added, Children: []*Node{sync}, Cause: &Cause{ID: "r0", Certainty: Certain, Rule: ByStorage}}
	root := &Node{ID: "r0", Kind: Call, Verb: "create", Status: 201, Object: &observe.Object{Kind: "Pod", Name: "web"}, Children: []*Node{event}, root: true}
	var b strings.Builder
	if err := (&Tree{Roots: []*Node{root}}).Write(&b, Text, Style{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "⇣ c saw it added, updated Pod web") {
		t.Error(b.String())
	}
}

// A conflict is answered without the object: its kind is known from other records.
func TestConflictsOfCustomResourcesHaveAKind(t *testing.T) {
	for _, c := range newGraph(loadJournal(t, "dispute"), observe.Object{}, Options{}).calls {
		if c.Object.Resource == "sites" && c.Object.Kind != "Site" {
			t.Errorf("%s: %s of %q", c.ID, c.Verb, c.Object.Kind)
		}
	}
}

// A process may write with another user agent than the one with which it watches.
func TestEventReceivedByAnotherClient(t *testing.T) {
	site := observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Namespace: "default", Name: "shop"}
	written := func(o observe.Object, version string) []observe.Written {
		return []observe.Written{{Resource: o.GroupResource(), Namespace: o.Namespace, Name: o.Name, ResourceVersion: version}}
	}
	at := func(seconds int) time.Time { return time.Date(2026, 1, 2, 3, 4, seconds, 0, time.UTC) }
	call := func(client string, o observe.Object, version string, cause uint64, began time.Time) *observe.Called {
		return &observe.Called{Controller: client, Client: &observe.Caller{}, Verb: "create", Object: o, Status: 201, ResourceVersion: version, Wrote: written(o, version), Cause: cause, Began: began}
	}
	records := []observe.Record{
		{Seq: 1, Time: at(0), Event: call("kubectl (admin)", site, "7", 0, at(0))},
		{Seq: 2, Time: at(1), Event: &observe.Delivered{Controller: "shop (admin)", Change: observe.Added, Object: site, ResourceVersion: "7"}},
		{Seq: 3, Time: at(2), Event: call("shop-writer (admin)", deployment("web"), "8", 2, at(2))},
	}
	chain, err := Why(records, deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := writeString(t, chain, Text, Style{})
	for _, want := range []string{"shop-writer (admin) created Deployment web likely because Site shop was added. It began when kubectl", "⇡ shop (admin) saw Site shop added"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	tree, err := Build(records, site, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := writeString(t, tree, Text, Style{}); !strings.Contains(text, "shop (admin) saw it added, shop-writer (admin) created Deployment web") {
		t.Error(text)
	}
}

// What a client tried follows only likely from the event of its watch.
func TestLikelyReasonOfAnAttempt(t *testing.T) {
	site := observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Namespace: "default", Name: "shop"}
	at := func(seconds int) time.Time { return time.Date(2026, 1, 2, 3, 4, seconds, 0, time.UTC) }
	stored := []observe.Written{{Resource: site.GroupResource(), Namespace: site.Namespace, Name: site.Name, ResourceVersion: "7"}}
	records := []observe.Record{
		{Seq: 1, Time: at(0), Event: &observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "create", Object: site, Status: 201, ResourceVersion: "7", Wrote: stored, Began: at(0)}},
		{Seq: 2, Time: at(1), Event: &observe.Delivered{Controller: "shop (admin)", Change: observe.Added, Object: site, ResourceVersion: "7"}},
		{Seq: 3, Time: at(2), Event: &observe.Called{Controller: "shop (admin)", Client: &observe.Caller{}, Verb: "create", Object: deployment("web"), Status: 403, Error: "no", Cause: 2, Began: at(2)}},
	}
	const want = "t likely tried because Site shop was added"
	chain, err := Why(records, deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Build(records, deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"why": writeString(t, chain, Text, Style{}), "trace": writeString(t, tree, Text, Style{})} {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not say %q:\n%s", what, want, text)
		}
	}
}
