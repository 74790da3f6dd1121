package trace

import (
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// The API server deletes the objects of a CustomResourceDefinition that is deleted, without a call of a client.
func TestInstancesOfADeletedDefinition(t *testing.T) {
	site := observe.Object{Group: "x.io", Resource: "sites", Kind: "Site", Namespace: "default", Name: "a"}
	for name, tc := range map[string]struct {
		definition string
		status     int
		want       string
	}{
		"its definition":     {"sites.x.io", 200, "The API server deleted Site a. It likely began when kubectl (admin) deleted CustomResourceDefinition sites.x.io."},
		"another definition": {"shops.x.io", 200, "The API server or an unrecorded client deleted Site a."},
		"refused":            {"sites.x.io", 403, "The API server or an unrecorded client deleted Site a."},
	} {
		at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
		var records []observe.Record
		add := func(e observe.Event) {
			at = at.Add(10 * time.Millisecond)
			if c, ok := e.(*observe.Called); ok {
				c.Began = at
			}
			records = append(records, observe.Record{Seq: uint64(len(records) + 1), Time: at, Event: e})
		}
		crd := observe.Object{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Kind: "CustomResourceDefinition", Name: tc.definition}
		call := &observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "delete", Object: crd, Status: tc.status}
		if tc.status == 200 {
			call.Wrote = []observe.Written{{Resource: crd.Resource + "." + crd.Group, Name: crd.Name, ResourceVersion: "7"}}
		}
		add(&observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "create", Object: site, Status: 201, ResourceVersion: "5",
			Wrote: []observe.Written{{Resource: site.Resource + "." + site.Group, Namespace: site.Namespace, Name: site.Name, ResourceVersion: "5"}}})
		add(&observe.Delivered{Controller: "garbage-collector-controller", Change: observe.Added, Object: site, ResourceVersion: "5"})
		add(call)
		add(&observe.Delivered{Controller: "garbage-collector-controller", Change: observe.Deleted, Object: site, ResourceVersion: "8"})
		chain, err := Why(records, site, Options{What: Deleted})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkSays(t, chain, []string{tc.want}, "not in the records")
	}
}

// The API server accepts the names of a CustomResourceDefinition, and then establishes it, without recorded calls.
func TestConditionsOfADefinition(t *testing.T) {
	crd := observe.Object{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Kind: "CustomResourceDefinition", Name: "sites.x.io"}
	quota := observe.Object{Resource: "resourcequotas", Kind: "ResourceQuota", Namespace: "default", Name: "few"}
	for name, tc := range map[string]struct {
		of    observe.Object
		after time.Duration // of the first update
		want  string
	}{
		"established": {crd, 20 * time.Millisecond, "The API server updated CustomResourceDefinition sites.x.io. It likely began when kubectl (admin) created CustomResourceDefinition sites.x.io."},
		"much later":  {crd, time.Minute, "It likely began when the API server or an unrecorded client updated CustomResourceDefinition sites.x.io."},
		"another":     {quota, 20 * time.Millisecond, "The API server or an unrecorded client updated ResourceQuota few."},
	} {
		var records []observe.Record
		add := func(after time.Duration, e observe.Event) { records = appendLater(records, after, e) }
		add(0, &observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "create", Object: tc.of, Status: 201, ResourceVersion: "5",
			Wrote: []observe.Written{{Resource: tc.of.GroupResource(), Namespace: tc.of.Namespace, Name: tc.of.Name, ResourceVersion: "5"}}})
		add(time.Millisecond, &observe.Delivered{Controller: "garbage-collector-controller", Change: observe.Added, Object: tc.of, ResourceVersion: "5"})
		add(tc.after, &observe.Delivered{Controller: "garbage-collector-controller", Change: observe.Updated, Object: tc.of, ResourceVersion: "6"})
		add(time.Millisecond, &observe.Delivered{Controller: "garbage-collector-controller", Change: observe.Updated, Object: tc.of, ResourceVersion: "8"})
		chain, err := Why(records, tc.of, Options{What: Changed})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkSays(t, chain, []string{tc.want}, "not in the records")
	}
}
