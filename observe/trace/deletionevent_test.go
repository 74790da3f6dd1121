package trace

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// An operator says in an Event why it deletes an object: it is quoted if the operator wrote it about the object just before.
func TestWhyDeletedQuotesTheEventOfTheDeletingClient(t *testing.T) {
	event := func(controller, name, reason string) *observe.Called {
		return &observe.Called{Controller: controller, Verb: "create", Object: observe.Object{Resource: "events", Kind: "Event", Namespace: "default", Name: reason}, Status: 201, Took: time.Microsecond,
			Client: &observe.Caller{User: controller}, Event: &observe.KubernetesEvent{Type: "Normal", Reason: reason, Note: "Disrupting Node: Empty.", Regarding: pod(name)}}
	}
	deleted := time.Unix(2000, 0)
	madeAt := func(c *observe.Called, at time.Time) *observe.Called {
		c.Object.Name = fmt.Sprintf("p.%x", at.UnixNano())
		return c
	}
	const quote = "operator (admin) had written an Event about it: DisruptionTerminating: Disrupting Node: Empty."
	for name, test := range map[string]struct {
		event  *observe.Called
		before time.Duration
		quoted bool
	}{
		"just before":             {event("operator (admin)", "p", "DisruptionTerminating"), time.Second, true},
		"long before":             {event("operator (admin)", "p", "DisruptionTerminating"), 3 * time.Second, false},
		"after":                   {event("operator (admin)", "p", "DisruptionTerminating"), -time.Second, false},
		"sent after, made before": {madeAt(event("operator (admin)", "p", "DisruptionTerminating"), deleted.Add(-time.Millisecond)), -time.Second, true},
		"made after":              {madeAt(event("operator (admin)", "p", "DisruptionTerminating"), deleted.Add(time.Millisecond)), -time.Second, false},
		"of another object":       {event("operator (admin)", "q", "DisruptionTerminating"), time.Second, false},
		"of another client":       {event("other (admin)", "p", "DisruptionTerminating"), time.Second, false},
	} {
		removal := wrote("operator (admin)", "delete", "6", observe.Written{ResourceVersion: "6", Deleted: true})
		records := recorded(wrote("kubectl (admin)", "create", "5", observe.Written{ResourceVersion: "5"}), event("operator (admin)", "p", "Earlier"), test.event, removal)
		records[2].Time, records[3].Time = deleted.Add(-test.before), deleted
		if test.before < 0 {
			records[2], records[3] = records[3], records[2]
			records[2].Seq, records[3].Seq = 3, 4
		}
		chain, err := Why(records, pod("p"), Options{What: Deleted})
		if err != nil {
			t.Fatal(err)
		}
		if text := writeString(t, chain, Text, Style{}); strings.Contains(text, quote) != test.quoted || strings.Contains(text, "Earlier") {
			t.Errorf("%s: quoted: want %v:\n%s", name, test.quoted, text)
		}
	}
}
