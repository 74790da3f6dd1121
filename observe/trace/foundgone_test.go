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
		if !c.failed && !strings.Contains(text, "tried to delete Pod q, which no longer existed") {
			t.Errorf("the deletion is not shown:\n%s", text)
		}
	}
}
