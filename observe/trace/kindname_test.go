package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// site is a Site of an API group.
func site(group, name string) observe.Object {
	return observe.Object{Group: group, Resource: "sites", Kind: "Site", Namespace: "shop", Name: name}
}

// createdSites are records of an operator that creates Sites of an API group, each for an event of a Site of a.example.
func createdSites(group string) []observe.Record {
	a := site("a.example", "web")
	events := []observe.Event{
		&observe.Called{Controller: "kubectl (admin)", Verb: "create", Object: a, Status: 201, ResourceVersion: "5", Took: time.Microsecond, Client: &observe.Caller{User: "admin"}},
		&observe.Delivered{Controller: "operator", Change: observe.Added, Object: a, ResourceVersion: "5"},
	}
	for _, name := range []string{"web", "api"} {
		events = append(events, &observe.Called{Controller: "operator", Verb: "create", Object: site(group, name), Status: 201, ResourceVersion: "6", Took: time.Microsecond, Cause: 2, Client: &observe.Caller{User: "operator"}})
	}
	refused := &observe.Called{Controller: "operator", Verb: "update", Object: site(group, "old"), Status: 403, Error: "forbidden", Took: time.Microsecond, Cause: 2, Client: &observe.Caller{User: "operator"}}
	return recorded(append(events, refused)...)
}

// Kinds of one name in two API groups are told apart where both are shown, as kubectl does, and only there.
func TestAmbiguousKindsAreNamedWithTheirGroup(t *testing.T) {
	const ambiguous = ".example"
	for group, names := range map[string]string{"a.example": "", "b.example": ".b.example"} {
		records, of := createdSites(group), strings.TrimSuffix(".a.example", map[bool]string{true: ".a.example"}[names == ""])
		tree, err := Build(records, site("a.example", "web"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		why, err := Why(records, site(group, "api"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		whyFirst, err := Why(records, site("a.example", "web"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for what, c := range map[string]struct {
			text string
			says []string
		}{
			"trace": {writeString(t, tree, Text, Style{}), []string{
				"What Site" + of + " shop/web set off", "kubectl (admin) created Site" + of + " web", "created 2 Sites" + names, "created Site" + names + " api", "failed to update Site" + names + " old",
			}},
			"why":          {writeString(t, why, Text, Style{}), []string{"Why Site" + names + " shop/api was created", "created Site" + names + " api likely because Site" + of + " web was added", "operator saw Site" + of + " web added"}},
			"what fails":   {writeString(t, whyFirst, Text, Style{}), []string{"Why Site" + of + " shop/web was created", "operator fails to update Site" + names + " old, once: 403: forbidden"}},
			"page":         {writeString(t, tree, HTML, Style{}), []string{"<title>Trace of Site" + of + " shop/web", `"create Site` + names + ` api"`}},
			"mermaid":      {writeString(t, tree, Mermaid, Style{}), []string{"create Site" + names + " api"}},
			"why, mermaid": {writeString(t, why, Mermaid, Style{}), []string{"create Site" + names + " api"}},
			"chrome":       {writeString(t, tree, Chrome, Style{}), []string{`"ctrlplane: Site` + of + ` shop/web"`, `"create Site` + names + ` api"`}},
			"otlp":         {writeString(t, tree, OTLP, Style{}), []string{`"create Site` + names + ` api"`}},
		} {
			for _, want := range c.says {
				if !strings.Contains(c.text, want) {
					t.Errorf("%s, %s: no %q in:\n%.3000s", group, what, want, c.text)
				}
			}
			if names == "" && strings.Contains(c.text, ambiguous) {
				t.Errorf("%s, %s: a group is shown:\n%.3000s", group, what, c.text)
			}
		}
	}
	records := recorded(
		&observe.Delivered{Controller: "operator", Change: observe.Added, Object: site("a.example", "web"), Queues: []string{"q"}},
		&observe.Delivered{Controller: "operator", Change: observe.Added, Object: site("b.example", "web"), Queues: []string{"q"}})
	if _, err := FindKey(records, "operator", "q", "shop/web"); err == nil || !strings.Contains(err.Error(), "may stand for Site.a.example shop/web or Site.b.example shop/web") {
		t.Errorf("key: %v", err)
	}
}

func TestKindsAreCounted(t *testing.T) {
	for kind, want := range map[string]string{
		"Site": "2 Sites", "ConstraintPodStatus": "2 ConstraintPodStatuses", "Ingress": "2 Ingresses", "NetworkPolicy": "2 NetworkPolicies",
		"Gateway": "2 Gateways", "Endpoints": "2 Endpoints", "Mailbox.example.com": "2 Mailboxes.example.com", "Watch": "2 Watches", "sites": "2 sites", "Y": "2 Ys",
	} {
		if got := countKind(2, kind); got != want {
			t.Errorf("%s: got %q, want %q", kind, got, want)
		}
		if got := countKind(1, kind); got != "1 "+kind {
			t.Errorf("%s: got %q", kind, got)
		}
	}
}
