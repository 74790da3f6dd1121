package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A CustomResourceDefinition without the status subresource answers a write of the status as if the object did not
// exist. If the records show that it does, why and trace say so.
func TestMissingStatusSubresource(t *testing.T) {
	shop := observe.Object{Group: "example.com", Resource: "shops", Kind: "Shop", Namespace: "default", Name: "s"}
	call := func(verb, subresource string, status int, wrote ...observe.Written) *observe.Called {
		c := &observe.Called{Controller: "operator", Verb: verb, Subresource: subresource, Object: shop, Status: status, Took: time.Microsecond, Wrote: wrote, Client: &observe.Caller{User: "operator"}}
		if status == 404 {
			c.Error = `shops.example.com "s" not found`
		}
		return c
	}
	written := observe.Written{Resource: "shops.example.com", Namespace: "default", Name: "s", ResourceVersion: "7"}
	removed := written
	removed.Deleted = true
	creates, fails, deletes := call("create", "", 201, written), call("update", "status", 404), call("delete", "", 200, removed)
	injected := call("update", "status", 404)
	injected.Error = observe.InjectedFault
	for name, c := range map[string]struct {
		events  []observe.Event
		options Options
		want    bool
	}{
		"exists":            {[]observe.Event{creates, fails}, Options{}, true},
		"deleted later":     {[]observe.Event{creates, fails, deletes}, Options{}, true},
		"deleted":           {[]observe.Event{creates, deletes, fails}, Options{}, false},
		"not yet created":   {[]observe.Event{fails, creates}, Options{}, false},
		"injected":          {[]observe.Event{creates, injected}, Options{}, false},
		"records dropped":   {[]observe.Event{creates, fails}, Options{Missed: 1}, false},
		"dropped long ago":  {[]observe.Event{call("patch", "", 200, written), creates, fails}, Options{Missed: 1, CompleteAfter: 1}, true},
		"another call type": {[]observe.Event{creates, call("update", "scale", 404)}, Options{}, false},
	} {
		const want = `operator failed to update Shop s status: 404: shops.example.com "s" not found, although it existed: its CRD has no status subresource`
		records := recorded(c.events...)
		tree, err := Build(records, shop, c.options)
		if err != nil {
			t.Fatal(err)
		}
		chain, err := Why(records, shop, c.options)
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{"trace": writeString(t, tree, Text, Style{}), "why": writeString(t, chain, Text, Style{})} {
			if got := strings.Join(strings.Fields(text), " "); strings.Contains(got, want) != c.want || strings.Contains(got, "CRD") != c.want {
				t.Errorf("%s, %s: want it said: %v\n%s", name, what, c.want, text)
			}
		}
	}
}
