package trace

import (
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestDeletionBegan(t *testing.T) {
	web := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "ns", Name: "web"}
	other := web
	other.Name = "other"
	namespace := observe.Object{Resource: "namespaces", Kind: "Namespace", Name: "ns"}
	call := func(verb string, o observe.Object, removed ...observe.Object) observe.Called {
		c := observe.Called{Verb: verb, Object: o, Status: 200}
		for _, r := range removed {
			c.Wrote = append(c.Wrote, observe.Written{Resource: "deployments.apps", Namespace: r.Namespace, Name: r.Name, Deleted: true})
		}
		return c
	}
	refused := call("delete", web)
	refused.Status = 403
	create, remove := call("create", web), call("delete", web, web)
	create.Wrote = []observe.Written{{Resource: "deployments.apps", Namespace: "ns", Name: "web"}}
	for name, tc := range map[string]struct {
		calls []observe.Called
		want  int // the index of the call with which the deletion began; -1 if the object was not removed
	}{
		"by a delete":          {[]observe.Called{create, refused, call("delete", other, other), remove}, 3},
		"of the namespace":     {[]observe.Called{create, call("delete", namespace), call("deletecollection", observe.Object{Group: "apps", Resource: "deployments", Namespace: "ns"}, other, web)}, 1},
		"with a finalizer":     {[]observe.Called{create, call("delete", web), call("patch", web, web)}, 1},
		"with others":          {[]observe.Called{create, call("deletecollection", observe.Object{Group: "apps", Resource: "deployments", Namespace: "ns"}, web)}, 1},
		"again":                {[]observe.Called{create, remove, create, remove}, 3},
		"which exists again":   {[]observe.Called{create, remove, create}, -1},
		"not removed":          {[]observe.Called{create, call("delete", web)}, -1},
		"created before":       {[]observe.Called{remove}, 0},
		"of another namespace": {[]observe.Called{create, call("delete", observe.Object{Resource: "namespaces", Name: "other"}), remove}, 2},
	} {
		at := func(i int) time.Time { return time.Date(2026, 1, 1, 12, 0, i, 0, time.UTC) }
		var records []observe.Record
		for i, c := range tc.calls {
			c.Began = at(i)
			records = append(records, observe.Record{Seq: uint64(i + 1), Time: at(i).Add(time.Millisecond), Event: &c})
		}
		began, ok := DeletionBegan(records, web)
		if ok != (tc.want >= 0) || ok && !began.Equal(at(tc.want)) {
			t.Errorf("%s: %s, %v, want that of call %d", name, began, ok, tc.want)
		}
	}
}
