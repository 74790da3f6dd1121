package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A deletion of what is gone is not a failure: no text counts it as one, or has it in red.
func TestDeletionOfAMissingObjectIsNoFailure(t *testing.T) {
	const notFound = `pods "p" not found`
	for _, c := range []struct {
		verb   string
		status int
		err    string
		failed bool
	}{{"delete", 404, notFound, false}, {"delete", 403, "forbidden", true}, {"update", 404, notFound, true}, {"delete", 404, observe.InjectedFault, true}} {
		records := recorded(
			wrote("kubectl (admin)", "create", "5", observe.Written{ResourceVersion: "5"}),
			&observe.Delivered{Controller: "operator", Change: observe.Added, Object: pod("p"), ResourceVersion: "5"},
			&observe.Called{Controller: "operator", Verb: c.verb, Object: pod("q"), Status: c.status, Error: c.err, Took: time.Microsecond, Cause: 2, Client: &observe.Caller{User: "operator"}})
		tree, err := Build(records, pod("p"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		chain, err := Why(records, pod("p"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		text := writeString(t, tree, Text, Style{Color: true})
		if counted := strings.Contains(text, "Not shown, because they changed nothing: 1 write"); counted == c.failed {
			t.Errorf("%s %d %s: counted as without a change: %v\n%s", c.verb, c.status, c.err, counted, text)
		}
		for what, shown := range map[string]bool{
			"failed to":              strings.Contains(text, "failed to "+c.verb+" Pod q"),
			"red":                    strings.Contains(text, "\x1b[31m"),
			"a failed call":          strings.Contains(text, "1 failed call"),
			"a failure of the chain": len(chain.Failing) > 0,
			"red on the page":        strings.Contains(writeString(t, tree, HTML, Style{}), `"tone":"bad"`),
			"a cross":                strings.Contains(writeString(t, tree, Mermaid, Style{}), "-xapi"),
			"an error in spans":      strings.Contains(writeString(t, tree, OTLP, Style{}), `"status":`),
			"failed in JSON":         strings.Contains(writeString(t, tree, JSON, Style{}), `"failed": true`),
		} {
			if shown != c.failed {
				t.Errorf("%s %d %s: %s: %v\n%s", c.verb, c.status, c.err, what, shown, text)
			}
		}
		if tree, err = Build(records, pod("p"), Options{All: true}); err != nil {
			t.Fatal(err)
		}
		if all := writeString(t, tree, Text, Style{}); !c.failed && !strings.Contains(all, "tried to delete Pod q, which did not exist") {
			t.Errorf("the deletion is not shown:\n%s", all)
		}
	}
}

// An operator without the module deletes what does not exist in each sync: what fails between is folded all the same.
func TestDeletionsOfMissingObjectsBreakNoFold(t *testing.T) {
	events := []observe.Event{
		wrote("kubectl (admin)", "create", "5", observe.Written{ResourceVersion: "5"}),
		&observe.Delivered{Controller: "operator", Change: observe.Added, Object: pod("p"), ResourceVersion: "5"},
	}
	for range 8 {
		for _, c := range []observe.Called{{Verb: "create", Status: 403, Error: "forbidden"}, {Verb: "delete", Status: 404, Error: `pods "q" not found`}} {
			c.Controller, c.Object, c.Took, c.Cause, c.Client = "operator", pod("q"), time.Microsecond, 2, &observe.Caller{User: "operator"}
			events = append(events, &c)
		}
	}
	text := textOf(t, recorded(events...), Options{})
	for _, want := range []string{"6 more attempts failed in the same way", "Not shown, because they changed nothing: 8 writes"} {
		if !strings.Contains(text, want) {
			t.Errorf("not %q in:\n%s", want, text)
		}
	}
}
