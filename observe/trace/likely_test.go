package trace

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A write that only likely belongs to a sync is drawn so on the line that it shares with that.
func TestLikelyWritesOnOneLineAreMarked(t *testing.T) {
	sync := &Node{ID: "s1", Kind: Sync, Controller: "c", Cause: &Cause{ID: "r1", Certainty: Exact, Rule: ByAdd}, Key: "default/web"}
	write := &Node{ID: "r2", Kind: Call, Verb: "update", Status: 200, Object: &observe.Object{Kind: "Pod", Name: "web"}, Cause: &Cause{ID: "s1", Certainty: Likely, Rule: ByKey}}
	sync.Children = []*Node{write}
	event := &Node{ID: "r1", Kind: Event, Controller: "c", Change: observe.Added, Children: []*Node{sync}, Cause: &Cause{ID: "r0", Certainty: Exact, Rule: ByStorage}}
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
