package fieldpaths

import (
	"slices"
	"testing"
)

func TestChanged(t *testing.T) {
	object := func(image, seen string, labels map[string]any) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": image}}},
			"status":   map[string]any{"lastSeen": seen},
		}
	}
	before := object("a", "1", map[string]any{"app.kubernetes.io/name": "x"})
	for name, tc := range map[string]struct {
		after map[string]any
		want  []string
	}{
		"nothing": {object("a", "1", map[string]any{"app.kubernetes.io/name": "x"}), nil},
		"a field": {object("a", "2", map[string]any{"app.kubernetes.io/name": "x"}), []string{"status.lastSeen"}},
		"a list":  {object("b", "1", map[string]any{"app.kubernetes.io/name": "x"}), []string{"spec.containers"}},
		"added and removed": {object("a", "1", map[string]any{"tier": "y"}),
			[]string{"metadata.labels.tier", "metadata.labels[app.kubernetes.io/name]"}},
	} {
		got, err := Changed(before, tc.after)
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, tc.want)
		}
	}
}
