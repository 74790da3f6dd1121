package health

import (
	"slices"
	"strings"
	"testing"
)

// Who has set a finalizer is known from the managed fields.
func TestFinalizersOfADeletion(t *testing.T) {
	const managed = `{manager: %s, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:finalizers": {".": {}, "v:\"example.com/cleanup\"": {}}}}}`
	object := func(deleted, fields string) string {
		return `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default, ` + deleted + `finalizers: [example.com/cleanup, example.com/hold], managedFields: [` + fields + `]}}`
	}
	const deleted = `deletionTimestamp: "2026-01-01T00:00:00Z", `
	by := func(name string) string { return strings.ReplaceAll(managed, "%s", name) }
	for name, tc := range map[string]struct {
		object string
		want   []Finalizer
	}{
		"one":         {object(deleted, by("shop-operator")), []Finalizer{{"example.com/cleanup", "shop-operator"}, {"example.com/hold", ""}}},
		"unknown":     {object(deleted, ""), []Finalizer{{"example.com/cleanup", ""}, {"example.com/hold", ""}}},
		"two":         {object(deleted, by("shop-operator")+", "+by("kubectl")), []Finalizer{{"example.com/cleanup", ""}, {"example.com/hold", ""}}},
		"not deleted": {object("", by("shop-operator")), nil},
	} {
		got := deletionOf(parseObject(t, tc.object))
		if (got == nil) != (tc.want == nil) || got != nil && !slices.Equal(got.Finalizers, tc.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
