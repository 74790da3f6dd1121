package learn

import (
	"testing"
	"time"
)

// A field that is null, as the conditions of a new CustomResourceDefinition, is missing, and so is an element
// beyond the end of a list: the check waits for it.
func TestFieldOf(t *testing.T) {
	const path = `.status.conditions[?(@.type=="Established")].status`
	conditions := func(list any) map[string]any { return map[string]any{"status": map[string]any{"conditions": list}} }
	established := []any{nil, map[string]any{"type": "Established", "status": "True", "reason": nil}}
	for _, tc := range []struct {
		object     map[string]any
		path, want string
	}{
		{conditions(nil), path, ""},
		{map[string]any{"status": nil}, path, ""},
		{map[string]any{}, path, ""},
		{conditions(established), path, "True"},
		{conditions([]any{}), path, ""},
		{conditions([]any{}), ".status.conditions[0].status", ""},
		{conditions(established[1:]), ".status.conditions[0].status", "True"},
		{conditions(established[1:]), ".status.conditions[1].status", ""},
		{conditions(established[1:]), ".status.conditions[-2].status", ""},
		{conditions(established[1:]), ".status.conditions[0:2].status", ""},
	} {
		if got, err := fieldOf(tc.object, tc.path); got != tc.want || err != nil {
			t.Errorf("%s of %v: got %q, %v, want %q", tc.path, tc.object, got, err, tc.want)
		}
	}
	if got, err := fieldOf(conditions("none"), ".status.conditions[0]"); err == nil {
		t.Errorf("an element of a text: got %q", got)
	}
}

// The commands of a check take at most a third of the time, unless they take long or the time is nearly over.
func TestPauseBetweenChecks(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct{ took, left, want time.Duration }{
		{0, time.Minute, 150 * ms}, {40 * ms, time.Minute, 150 * ms}, {300 * ms, time.Minute, 600 * ms}, {5 * time.Second, time.Minute, time.Second},
		{375 * ms, 1125 * ms, 375 * ms}, {375 * ms, 375 * ms, 150 * ms}, {time.Second, 0, 150 * ms},
	} {
		if got := pauseAfter(tc.took, tc.left); got != tc.want {
			t.Errorf("after %v, %v before the end: got %v, want %v", tc.took, tc.left, got, tc.want)
		}
	}
}
