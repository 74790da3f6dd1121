package trace

import (
	"slices"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// What the API server warned an operator of is said until that has written the object without a warning.
func TestWarningsOfWrites(t *testing.T) {
	of := func(client, verb, subresource string, status int, warnings ...string) observe.Called {
		return observe.Called{Controller: client, Verb: verb, Subresource: subresource, Status: status, Warnings: warnings, Wrote: deploymentWritten("7", false)}
	}
	const operator, unknown = "shop-operator (bob)", `unknown field "status.extra"`
	created, warned := of("kubectl (bob)", "create", "", 201), of(operator, "update", "status", 200, unknown)
	const advised = `metadata.finalizers: "finalizers.fluxcd.io": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers`
	const cephfs = "spec.cephfs: deprecated in v1.28, non-functional in v1.31+"
	const said = `The API server warned shop-operator (bob) when that last updated its status, at 12:00:02.000: unknown field "status.extra".`
	for name, tc := range map[string]struct {
		calls []observe.Called // one a second
		want  []string
	}{
		"warned":                     {[]observe.Called{created, warned}, []string{said}},
		"then not":                   {[]observe.Called{created, warned, of(operator, "update", "status", 200)}, nil},
		"then of another write":      {[]observe.Called{created, warned, of(operator, "patch", "", 200)}, []string{said}},
		"then one failed":            {[]observe.Called{created, warned, of(operator, "update", "status", 409)}, []string{said}},
		"of an earlier object":       {[]observe.Called{created, warned, created}, nil},
		"made again by a controller": {[]observe.Called{created, warned, of("replicaset-controller", "create", "", 201)}, nil},
		"of what it has created":     {[]observe.Called{of(operator, "create", "", 201, "a", "b")}, []string{"The API server warned shop-operator (bob) when that created it, at 12:00:01.000: a; b."}},
		"of what is longer":          {[]observe.Called{of(operator, "create", "", 201, "see htt…")}, []string{"The API server warned shop-operator (bob) when that created it, at 12:00:01.000: see htt…"}},
		"advice":                     {[]observe.Called{created, of(operator, "update", "", 200, advised, "example.com/v1 Site is deprecated; use v2")}, nil},
		"advice and its number":      {[]observe.Called{created, of(operator, "update", "", 200, advised, advised, advised, "2 more warnings")}, nil},
		"a deprecated field":         {[]observe.Called{of(operator, "create", "", 201, cephfs)}, []string{"The API server warned shop-operator (bob) when that created it, at 12:00:01.000: " + cephfs + "."}},
		"a field of that name":       {[]observe.Called{of(operator, "create", "", 201, `unknown field "status.deprecated"`)}, []string{`The API server warned shop-operator (bob) when that created it, at 12:00:01.000: unknown field "status.deprecated".`}},
		"advice and more":            {[]observe.Called{created, of(operator, "update", "status", 200, advised, unknown)}, []string{said}},
		"a user":                     {[]observe.Called{of("kubectl (bob)", "create", "", 201, "deprecated")}, nil},
	} {
		clients := make([]string, len(tc.calls))
		for i, c := range tc.calls {
			clients[i] = c.Controller
		}
		records := clientCalls(slices.Clone(tc.calls)...)
		for i, r := range records {
			r.Event.(*observe.Called).Controller = clients[i]
		}
		if got := DescribeWarnings(records, deployment("web"), Style{}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
