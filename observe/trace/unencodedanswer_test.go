package trace

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// The namespace controller deletes the objects of an aggregated API server, which cannot encode its answer. Its storage reports nothing,
// and the watch may have been closed meanwhile.
func TestDeletionsWithAnUnencodedAnswer(t *testing.T) {
	flunder := observe.Object{Group: "wardle.example.com", Resource: "flunders", Kind: "Flunder", Namespace: "default", Name: "x"}
	collection := flunder
	collection.Name = ""
	const began = "12:00:04.000"
	for name, c := range map[string]struct {
		gone     bool
		after    time.Duration // the event, after the call
		change   func(c *observe.Called)
		isUnsure bool
	}{
		"gone":                {gone: true, after: time.Millisecond},
		"marked":              {after: time.Millisecond},
		"with a closed watch": {after: 20 * time.Second},
		"refused":             {gone: true, after: time.Millisecond, change: func(c *observe.Called) { c.Status = http.StatusForbidden }, isUnsure: true},
		"with another 406":    {gone: true, after: time.Millisecond, change: func(c *observe.Called) { c.Error = "only the following media types are accepted: application/json" }, isUnsure: true},
		"of another kind":     {gone: true, after: time.Millisecond, change: func(c *observe.Called) { c.Object.Resource = "fischers" }, isUnsure: true},
	} {
		t.Run(name, func(t *testing.T) {
			records := clientCalls(
				observe.Called{Verb: "create", Status: 201, ResourceVersion: "2", Wrote: []observe.Written{{Resource: "deployments.apps", Namespace: "default", Name: "web", ResourceVersion: "7"}}},
				observe.Called{Verb: "create", Status: 201, ResourceVersion: "3", Aggregated: true},
				observe.Called{}, observe.Called{}, observe.Called{}, observe.Called{})
			records[1].Event.(*observe.Called).Object = flunder
			for i, r := range records[2:] {
				call := r.Event.(*observe.Called)
				*call = observe.Called{Controller: "namespace-controller", Verb: "deletecollection", Object: collection, Status: http.StatusNotAcceptable, Began: call.Began, Took: time.Millisecond,
					Error: "object *v1beta1.FlunderList does not implement the protobuf marshalling interface"}
				if i < 2 { // the server is not available
					call.Status, call.Error = http.StatusServiceUnavailable, "the server is currently unable to handle the request"
				} else if c.change != nil {
					c.change(call)
				}
			}
			deliver := func(at time.Time, e observe.Delivered) {
				e.Controller, e.Object = "garbage-collector-controller", flunder
				records = append(records, observe.Record{Seq: uint64(len(records) + 1), Time: at, Event: &e})
			}
			deliver(records[1].Time.Add(time.Millisecond), observe.Delivered{Change: observe.Added, ResourceVersion: "3"})
			last := observe.Delivered{Change: observe.Updated, ResourceVersion: "5", Deleting: true}
			if c.gone {
				last = observe.Delivered{Change: observe.Deleted, ResourceVersion: "5"}
			}
			deliver(records[4].Event.(*observe.Called).Began.Add(c.after), last)
			slices.SortStableFunc(records, func(a, b observe.Record) int { return a.Time.Compare(b.Time) })
			chain, err := Why(records, flunder, Options{What: Deleted})
			if err != nil {
				t.Fatal(err)
			}
			text := writeString(t, chain, Text, Style{})
			if is := strings.Contains(text, "an unrecorded client"); is != c.isUnsure {
				t.Errorf("not known: %v\n%s", is, text)
			}
			if !c.isUnsure && (!strings.Contains(text, "namespace-controller likely deleted every Flunder") || !strings.Contains(text, began)) {
				t.Error(text)
			}
		})
	}
}
