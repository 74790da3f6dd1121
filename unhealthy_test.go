package ctrlplane

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Of what was marked as deleted, only what no later record says to be gone may wait for a finalizer.
func TestFinalizingObjects(t *testing.T) {
	began := time.Now()
	var records []observe.Record
	call := func(verb string, wrote ...observe.Written) {
		records = append(records, observe.Record{Time: began.Add(time.Duration(len(records)) * time.Second), Event: &observe.Called{Verb: verb, Status: 200, Wrote: wrote}})
	}
	written := func(name string, deleted bool) observe.Written {
		return observe.Written{Resource: "shops.example.com", Namespace: "ns", Name: name, Deleted: deleted}
	}
	call("delete", written("stuck", false))
	call("delete", written("finalized", false))
	call("update", written("finalized", true))
	call("create", written("finalized", false))
	call("deletecollection", written("one", false), written("two", true), written("three", false))
	for range 2 * maxDeleted {
		call("delete", written("gone", true))
	}
	call("delete", written("stuck", false))
	call("update", written("stuck", false))
	last := records[len(records)-1].Time
	call("delete", written("just now", false))
	var names []string
	for _, o := range finalizingObjects(records, last) {
		if o.GroupResource() != "shops.example.com" || o.Namespace != "ns" {
			t.Errorf("got %+v", o)
		}
		names = append(names, o.Name)
	}
	if diff := cmp.Diff([]string{"stuck", "one", "three"}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
