package trace

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// What an operator has created for an object, without a known cause, is counted, and what a user has created is not.
func TestUnexplainedCreationsAreCounted(t *testing.T) {
	const kind = "Site"
	site := observe.Object{Group: "x.io", Resource: "sites", Kind: kind, Namespace: "default", Name: "a"}
	create := func(resource, kind, name string, owner *observe.Object, unexplained *observe.Received) observe.Called {
		return observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Owner: owner, Unexplained: unexplained,
			Object: observe.Object{Resource: resource, Kind: kind, Namespace: "default", Name: name}, Wrote: []observe.Written{{Resource: resource, Namespace: "default", Name: name, ResourceVersion: "7"}}}
	}
	calls := []observe.Called{
		create("sites.x.io", kind, "a", nil, nil),
		create("replicasets", "ReplicaSet", "b", &observe.Object{Kind: kind, Name: "a"}, &observe.Received{}),
		create("pods", "Pod", "c", &observe.Object{Kind: "ReplicaSet", Name: "b"}, &observe.Received{}),
		create("pods", "Pod", "d", &observe.Object{Kind: "ReplicaSet", Name: "b"}, &observe.Received{}),
		create("pods", "Pod", "others", &observe.Object{Kind: "ReplicaSet", Name: "z"}, &observe.Received{}),
		create("configmaps", "ConfigMap", "by-a-user", &observe.Object{Kind: kind, Name: "a"}, nil),
	}
	var records []observe.Record
	for i := range calls {
		c := calls[i]
		object := c.Object
		record := clientCalls(c)[0]
		record.Event.(*observe.Called).Object = object
		record.Seq = uint64(i + 1)
		records = append(records, record)
	}
	records[0].Event.(*observe.Called).Object = site
	tree, err := Build(records, site, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []Format{Text, HTML} {
		text := writeString(t, tree, f, Style{})
		if !strings.Contains(text, "Not shown, because their causes are not known: 2 Pods and 1 ReplicaSet that it owns, directly or not") {
			t.Errorf("%s does not count what is not shown:\n%.3000s", f, text)
		}
	}
}
