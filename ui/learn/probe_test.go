package learn

import "testing"

// A field that is null, as the conditions of a new CustomResourceDefinition, is missing: the check
// waits for it.
func TestFieldOfNull(t *testing.T) {
	const path = `.status.conditions[?(@.type=="Established")].status`
	conditions := func(list any) map[string]any { return map[string]any{"status": map[string]any{"conditions": list}} }
	established := []any{nil, map[string]any{"type": "Established", "status": "True", "reason": nil}}
	for _, tc := range []struct {
		object map[string]any
		want   string
	}{
		{conditions(nil), ""},
		{map[string]any{"status": nil}, ""},
		{map[string]any{}, ""},
		{conditions(established), "True"},
	} {
		if got, err := fieldOf(tc.object, path); got != tc.want || err != nil {
			t.Errorf("%v: got %q, %v, want %q", tc.object, got, err, tc.want)
		}
	}
}
