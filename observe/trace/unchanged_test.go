package trace

import (
	"slices"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// The writes of a client that change nothing are counted until one changes the object.
func TestUnchangedWrites(t *testing.T) {
	created := observe.Called{Verb: "create", Status: 201, Wrote: deploymentWritten("7", false)}
	changed := observe.Called{Controller: "shop-operator (bob)", Verb: "update", Wrote: deploymentWritten("8", false)}
	of := func(c observe.Called) observe.Called { c.Controller = "shop-operator (bob)"; return c }
	update, patch, status := of(observe.Called{Verb: "update"}), of(observe.Called{Verb: "patch"}), of(observe.Called{Verb: "update", Subresource: "status"})
	refused, tried, scaled := of(observe.Called{Verb: "update", Status: 422, Error: "invalid"}), of(observe.Called{Verb: "update", DryRun: true}), of(observe.Called{Verb: "update", Subresource: "scale"})
	changedByOther, removed := changed, observe.Called{Verb: "delete", Wrote: deploymentWritten("9", true)}
	changedByOther.Controller = "kubectl (bob)"
	byKubectl := observe.Called{Controller: "kubectl (bob)", Verb: "patch"}
	warned, patchWarned := status, patch
	warned.Warnings = []string{`unknown field "status.extra"`}
	patchWarned.Warnings = warned.Warnings
	const subresource = ": the status is written by its subresource only"
	for name, tc := range map[string]struct {
		calls    []observe.Called // one a second, from 12:00:00 on
		want     []string
		repeated bool
	}{
		"one":                            {[]observe.Called{created, update}, []string{"shop-operator (bob) updated it once without a change, at 12:00:02.000"}, false},
		"several":                        {[]observe.Called{created, update, update, update}, []string{"shop-operator (bob) updated it 3 times without a change, last at 12:00:04.000" + subresource}, true},
		"patches":                        {[]observe.Called{created, patch, patch, patch}, []string{"shop-operator (bob) patched it 3 times without a change, last at 12:00:04.000" + subresource}, false},
		"of the status":                  {[]observe.Called{created, status, status, status}, []string{"shop-operator (bob) updated its status 3 times without a change, last at 12:00:04.000"}, true},
		"of another one than the status": {[]observe.Called{created, status, changed, update}, []string{"shop-operator (bob) updated it once without a change, at 12:00:04.000"}, false},
		"warned of":                      {[]observe.Called{created, status, status, warned}, []string{`shop-operator (bob) updated its status 3 times without a change, last at 12:00:04.000`}, true},
		"patches that are warned of":     {[]observe.Called{created, patchWarned, patchWarned, patchWarned}, []string{`shop-operator (bob) patched it 3 times without a change, last at 12:00:04.000`}, true},
		"then a change":                  {[]observe.Called{created, update, update, update, changed}, nil, false},
		"since a change":                 {[]observe.Called{created, update, changed, update}, []string{"shop-operator (bob) updated it once without a change, at 12:00:04.000"}, false},
		"others change it":               {[]observe.Called{created, update, changedByOther, update}, []string{"shop-operator (bob) updated it 2 times without a change, last at 12:00:04.000" + subresource}, false},
		"created again":                  {[]observe.Called{created, update, removed, created}, nil, false},
		"removed":                        {[]observe.Called{created, update, removed}, nil, false},
		"refused":                        {[]observe.Called{created, refused, refused}, nil, false},
		"dry runs":                       {[]observe.Called{created, tried, tried}, nil, false},
		"of other subresources":          {[]observe.Called{created, scaled}, nil, false},
		"by a user":                      {[]observe.Called{created, byKubectl}, nil, false},
		"the storage reports nothing":    {[]observe.Called{{Verb: "create", Status: 201}, update, update}, nil, false},
	} {
		callers := make([]string, len(tc.calls))
		for i, c := range tc.calls {
			callers[i] = c.Controller
		}
		records := clientCalls(slices.Clone(tc.calls)...)
		for i, r := range records {
			if callers[i] != "" {
				r.Event.(*observe.Called).Controller = callers[i]
			}
		}
		var got []string
		repeated := false
		for _, u := range FindUnchangedWrites(records, deployment("web")) {
			got = append(got, u.ForStatus(Style{}))
			repeated = repeated || u.IsRepeated()
		}
		if !slices.Equal(got, tc.want) || repeated != tc.repeated {
			t.Errorf("%s: got %q, repeated: %v", name, got, repeated)
		}
	}
}
