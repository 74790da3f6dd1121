package trace

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// An operator without the module that cannot make what belongs to an object is said with the object.
func TestWhySaysWhichEffectsFail(t *testing.T) {
	refused := observe.Called{Verb: "create", Status: 403, Error: "configmaps is forbidden"}
	exists := observe.Called{Verb: "create", Status: 409, Error: `pods "a" already exists`}
	for name, tc := range map[string]struct {
		calls []observe.Called // of the operator
		what  What
		want  []string
	}{
		"refused":                      {[]observe.Called{refused}, "", []string{"shop-operator fails to create Pod a, once: 403: configmaps is forbidden."}},
		"again and again":              {[]observe.Called{refused, refused, refused}, "", []string{"shop-operator fails to create Pod a, 3 times in a row: 403: configmaps is forbidden."}},
		"then created":                 {[]observe.Called{refused, {Verb: "create", Status: 201}}, "", nil},
		"conflict":                     {[]observe.Called{{Verb: "update", Status: 409, Conflict: true}}, "", nil},
		"created if it does not exist": {[]observe.Called{{Verb: "patch", Status: 404, Error: `pods "a" not found`}, {Verb: "create", Status: 201}}, "", nil},
		"created, or updated":          {[]observe.Called{exists, {Verb: "update"}, exists, {Verb: "update"}}, "", nil},
		"exists, and is another one's": {[]observe.Called{exists, exists}, "", []string{`shop-operator fails to create Pod a, 2 times in a row: 409: pods "a" already exists.`}},
		"exists, and is its own":       {[]observe.Called{{Verb: "create", Status: 201}, exists, exists}, "", nil},
		"created for another object": {[]observe.Called{{Verb: "create", Status: 201, Cause: 98}, exists}, "",
			[]string{`shop-operator fails to create Pod a, once: 409: pods "a" already exists.`}},
		"its own was replaced": {[]observe.Called{{Verb: "create", Status: 201}, {Verb: "delete"}, exists}, "",
			[]string{`shop-operator fails to create Pod a, once: 409: pods "a" already exists.`}},
		"is being deleted": {[]observe.Called{{Verb: "create", Status: 409, Error: `object is being deleted: pods "a" already exists`}, {Verb: "patch"}}, "",
			[]string{`shop-operator fails to create Pod a, once: 409: object is being deleted: pods "a" already exists.`}},
		"only one verb is refused": {[]observe.Called{{Verb: "update", Status: 403, Error: "forbidden"}, {Verb: "patch"}}, "", []string{"shop-operator fails to update Pod a, once: 403: forbidden."}},
		"its last change":          {[]observe.Called{refused}, Created, nil},
	} {
		calls := slices.Concat([]observe.Called{{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}}, tc.calls)
		records := clientCalls(calls...)
		for _, r := range records[1:] {
			c := r.Event.(*observe.Called)
			c.Controller, c.Object = "shop-operator", pod("a")
			if c.Cause == 0 {
				c.Cause = 99
			}
			if !c.Failed() {
				c.Wrote = []observe.Written{{Resource: "pods", Namespace: "default", Name: "a", ResourceVersion: "9", Deleted: c.Verb == "delete"}}
			}
		}
		records = append(records, observe.Record{Seq: 99, Time: records[0].Time.Add(1), Event: &observe.Delivered{
			Controller: "shop-operator", Change: observe.Added, Object: deployment("web"), ResourceVersion: "7",
		}})
		chain, err := Why(records, deployment("web"), Options{What: tc.what})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(chain.Failing, tc.want) {
			t.Errorf("%s: got %s", name, fmt.Sprintf("%q", chain.Failing))
		}
	}
}
