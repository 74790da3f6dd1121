package trace

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestInvalidOptions(t *testing.T) {
	all := buildTree(t, "scale", deployment("web"), Options{All: true})
	usual := buildTree(t, "scale", deployment("web"), Options{})
	if n, m := len(usual.nodesByTime()), len(all.nodesByTime()); n >= m {
		t.Errorf("%d nodes by default, %d with All", n, m)
	}
	shallow := buildTree(t, "scale", deployment("web"), Options{Depth: 1})
	for n := range shallow.All() {
		if n.Kind == Call && !n.root {
			t.Errorf("depth 1 has %s", labelOf(n))
		}
	}
	if text := writeString(t, shallow, Text, Style{}); !strings.Contains(text, "more below") {
		t.Errorf("the text does not mention the nodes left out:\n%s", text)
	}
	quota := buildTree(t, "scale", deployment("web"), Options{Controller: "replicaset-controller"})
	for n := range quota.All() {
		if len(n.Children) == 0 && n.Controller != "replicaset-controller" {
			t.Errorf("a branch ends in %s of %q", n.ID, n.Controller)
		}
	}
	later := buildTree(t, "scale", deployment("web"), Options{Since: usual.Start.Add(time.Second)})
	if len(later.Roots) != 1 || later.Roots[0].ResourceVersion != "51" {
		t.Errorf("since after the first write there are %d roots", len(later.Roots))
	}
	never := buildTree(t, "scale", deployment("web"), Options{Since: usual.Start.Add(time.Hour)})
	if text := writeString(t, never, Text, Style{}); !strings.Contains(text, "matches the options") {
		t.Errorf("no node is left, but the text is:\n%s", text)
	}
}

// What is left out by a depth or for a controller has happened nevertheless.
func TestSummaryCountsWhatIsLeftOut(t *testing.T) {
	summary := func(o Options) string {
		return buildTree(t, "scale", deployment("web"), o).summarize(phrases{})
	}
	all := summary(Options{})
	if shallow := summary(Options{Depth: 1}); shallow != all {
		t.Errorf("with a depth %q, without one %q", shallow, all)
	}
	want := all + " Only what replicaset-controller did is shown, and what led to it."
	if of := summary(Options{Controller: "replicaset-controller"}); of != want {
		t.Errorf("got  %q\nwant %q", of, want)
	}
	if later := summary(Options{Since: buildTree(t, "scale", deployment("web"), Options{}).Start.Add(time.Second)}); later == all {
		t.Errorf("what is before the time is counted: %q", later)
	}
}

func TestObjectWithoutRecords(t *testing.T) {
	records := loadJournal(t, "rollout")
	_, err := Build(records, deployment("nix"), Options{})
	if !errors.Is(err, ErrNoRecords) || !strings.Contains(err.Error(), "Deployment default/nix") {
		t.Errorf("got %v", err)
	}
	_, err = Why(records, deployment("nix"), Options{Missed: 7})
	if !errors.Is(err, ErrNoRecords) || !strings.Contains(err.Error(), "dropped 7 older records") {
		t.Errorf("got %v", err)
	}
	_, err = Why(records, deployment("web"), Options{What: Deleted})
	if err == nil || !strings.Contains(err.Error(), "no record that it was deleted") {
		t.Errorf("got %v", err)
	}
	if _, err := Build(nil, deployment("web"), Options{}); !errors.Is(err, ErrNoRecords) {
		t.Errorf("no records: %v", err)
	}
}

// If the first records were dropped, the trace begins later and says so.
func TestMissedBeginningIsReported(t *testing.T) {
	records := loadJournal(t, "rollout")
	i := slices.IndexFunc(records, func(r observe.Record) bool { return r.Seq >= 822 })
	tree, err := Build(records[i:], deployment("web"), Options{Missed: 821})
	if err != nil {
		t.Fatal(err)
	}
	if text := writeString(t, tree, Text, Style{}); !strings.Contains(text, "Dropped 821 older records") {
		t.Errorf("the dropped records are not mentioned:\n%s", text)
	}
	chain, err := Why(records[i:], pod("web-7fdb866fbd-7bk4m"), Options{Missed: 821})
	if err != nil {
		t.Fatal(err)
	}
	if text := writeString(t, chain, Text, Style{}); chain.Complete || !strings.Contains(text, "cause of the last line is not in the records") {
		t.Errorf("complete is %v:\n%s", chain.Complete, text)
	}
}

// A call is recorded before its sync, whose end is unknown while it runs.
func TestOpenSync(t *testing.T) {
	records := loadJournal(t, "rollout")
	i := slices.IndexFunc(records, func(r observe.Record) bool { s, ok := r.Event.(*observe.Synced); return ok && s.ID == 516 })
	tree, err := Build(records[:i], deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	open := 0
	for n := range tree.All() {
		if n.Open {
			open++
		}
	}
	if open != 0 {
		t.Errorf("%d open syncs in the tree, want none: their causes are unknown", open)
	}
	rs := observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "default", Name: "web-7fdb866fbd"}
	chain, err := Why(records[:i], pod("web-7fdb866fbd-wxbkz"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(chain.Links) != 2 || !chain.Links[1].Open || chain.Complete {
		t.Errorf("links %v", chain.Links)
	}
	if _, err := Build(records[:i], rs, Options{}); err != nil {
		t.Error(err)
	}
}

// Clocks that go backward and records of other kinds must not cause hangs or panics.
func TestToleratesInconsistentRecords(t *testing.T) {
	records := loadJournal(t, "foreground")
	for i := range records {
		records[i].Time = records[0].Time
	}
	records = append(records, observe.Record{Seq: 1, Event: &observe.BootStep{Step: "etcd"}}, observe.Record{Seq: 2, Event: &observe.Synced{}},
		observe.Record{Seq: 3, Event: &observe.Called{Verb: "update"}}, observe.Record{Seq: 4, Event: &observe.Delivered{Change: observe.Updated}})
	tree, err := Build(records, deployment("busy"), Options{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Formats() {
		writeString(t, tree, f, Style{})
	}
	slices.Reverse(records)
	if _, err := Build(records, deployment("busy"), Options{}); err != nil {
		t.Error(err)
	}
	a, b := &Node{ID: "a"}, &Node{ID: "b"}
	a.setCause(b, Likely, BySync)
	b.setCause(a, Likely, BySync)
	(&graph{nodes: []*Node{a, b}}).breakCycles()
	if a.causedBy != nil && b.causedBy != nil {
		t.Error("a cycle is left")
	}
}

func TestFind(t *testing.T) {
	records := loadJournal(t, "cascade")
	for _, kind := range []string{"replicaset", "ReplicaSet", "replicasets.apps", "replicasets"} {
		if o, ok := Find(records, kind, "default", "web-7fdb866fbd"); !ok || o.Resource != "replicasets" {
			t.Errorf("%s: %+v, %v", kind, o, ok)
		}
	}
	if o, ok := Find(records, "replicaset", "other", "web-7fdb866fbd"); ok {
		t.Errorf("found %v in another namespace", o)
	}
}

func TestEveryFormatIsWritten(t *testing.T) {
	for _, f := range Formats() {
		var b strings.Builder
		if err := buildTree(t, "rollout", deployment("web"), Options{}).Write(&b, f, Style{}); err != nil || b.Len() == 0 {
			t.Errorf("%s: %d bytes, %v", f, b.Len(), err)
		}
	}
	if err := buildTree(t, "rollout", deployment("web"), Options{}).Write(&strings.Builder{}, "svg", Style{}); err == nil {
		t.Error("Write accepts an unknown format")
	}
}

func TestWidthIsRespected(t *testing.T) {
	tree := buildTree(t, "rollout", deployment("web"), Options{})
	for _, style := range []Style{{Width: 60}, {Width: 60, Color: true}, {Width: 1}} {
		for _, line := range strings.Split(writeString(t, tree, Text, style), "\n")[2:] {
			plain := line
			for strings.Contains(plain, "\x1b[") {
				i := strings.Index(plain, "\x1b[")
				plain = plain[:i] + plain[i+strings.Index(plain[i:], "m")+1:]
			}
			if n := len([]rune(plain)); n > style.Width && !strings.HasSuffix(plain, "certain") {
				t.Errorf("%d columns: %q", n, plain)
			}
		}
	}
}

// Names and messages are written by clients: a ClusterRole's name, for one, may contain
// any character but a slash.
func TestHostileTextIsCleaned(t *testing.T) {
	const evil = "a\x1b[2J\x07\u009b31m\u202eb\nc"
	object := &observe.Object{Resource: "clusterroles", Kind: "ClusterRole", Name: evil}
	call := &Node{Kind: Call, Verb: "update", Object: object, Status: 403, Error: evil, Controller: "c"}
	sync := &Node{Kind: Sync, Object: object, Key: evil, Error: evil + "!", Queue: "q" + evil, Controller: "c", LogLines: []string{evil}, Children: []*Node{call}}
	root := &Node{Kind: Outside, Verb: "create", Object: object, Children: []*Node{sync}, root: true}
	call.causedBy, sync.causedBy = sync, root
	tree := &Tree{About: *object, Roots: []*Node{root}}
	chain := &Chain{About: *object, Links: []*Node{call, sync, root}}
	for name, v := range map[string]writer{"trace": tree, "why": chain} {
		for _, f := range []Format{Text, Mermaid, JSON, YAML} {
			text := writeString(t, v, f, Style{})
			if (f == Text || f == Mermaid) && !strings.Contains(text, "a[2J31mb c") {
				t.Errorf("%s as %s does not contain the name: %q", name, f, text)
			}
			if strings.ContainsAny(text, "\x1b\x07\u009b\u202e") {
				t.Errorf("%s as %s contains control characters: %q", name, f, text)
			}
		}
	}
}

// TestWhyLacksNamespace asks for an object whose server-side apply has failed, as its namespace did not exist.
func TestWhyLacksNamespace(t *testing.T) {
	web := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "shop", Name: "web"}
	apply := func(message string) (*Chain, error) {
		return Why([]observe.Record{{Seq: 1, Event: &observe.Called{
			Controller: "ctrlplane (admin)", Client: &observe.Caller{User: "admin"}, Verb: "patch", Object: web, Status: 404, Error: message,
		}}}, web, Options{})
	}
	chain, err := apply(`namespaces "shop" not found`)
	if err != nil {
		t.Fatal(err)
	}
	if text := writeString(t, chain, Text, Style{}); chain.What != Refused || !strings.Contains(text, "ctrlplane (admin)") || !strings.Contains(text, `namespaces "shop" not found`) {
		t.Errorf("%s: %s", chain.What, text)
	}
	if chain, err := apply(`deployments.apps "web" not found`); err == nil {
		t.Errorf("a patch of what does not exist: %s", writeString(t, chain, Text, Style{}))
	}
}
