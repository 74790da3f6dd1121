package annotations

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestLookupPrefersCurrentName(t *testing.T) {
	for name, tc := range map[string]struct {
		set        map[string]string
		key, value string
		ok         bool
	}{
		"not set":         {nil, "ctrlplane.local/run-for", "", false},
		"current name":    {map[string]string{"ctrlplane.local/run-for": "1s"}, "ctrlplane.local/run-for", "1s", true},
		"deprecated name": {map[string]string{"ctrlplane/run-for": "1s"}, "ctrlplane/run-for", "1s", true},
		"both":            {map[string]string{"ctrlplane/run-for": "1s", "ctrlplane.local/run-for": "2s"}, "ctrlplane.local/run-for", "2s", true},
		"current is empty": {map[string]string{"ctrlplane/run-for": "1s", "ctrlplane.local/run-for": ""},
			"ctrlplane.local/run-for", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			key, value, ok := Lookup(tc.set, RunFor)
			if key != tc.key || value != tc.value || ok != tc.ok {
				t.Errorf("Lookup = %q, %q, %v; want %q, %q, %v", key, value, ok, tc.key, tc.value, tc.ok)
			}
		})
	}
}

func TestNodeStateByBothNames(t *testing.T) {
	for _, tc := range []struct {
		set              map[string]string
		failed, terminal bool
	}{
		{nil, false, false},
		{map[string]string{"ctrlplane.local/failed": "true"}, true, false},
		{map[string]string{"ctrlplane/failed": "true"}, true, false},
		{map[string]string{"ctrlplane/failed": "true", "ctrlplane.local/failed": "false"}, false, false},
		{map[string]string{"ctrlplane.local/terminated": "true"}, false, true},
		{map[string]string{"ctrlplane/terminated": "true"}, false, true},
		{map[string]string{"ctrlplane/terminated": "false"}, false, false},
	} {
		node := &corev1.Node{}
		node.Annotations = map[string]string{KwokNode: KwokFake}
		for key, value := range tc.set {
			node.Annotations[key] = value
		}
		if HasFailed(node) != tc.failed || IsTerminated(node) != tc.terminal || IsLive(node) != (!tc.failed && !tc.terminal) {
			t.Errorf("%v: failed %v, terminated %v, live %v", tc.set, HasFailed(node), IsTerminated(node), IsLive(node))
		}
	}
}

func TestDeprecatedInFindsOwnAnnotationsOnly(t *testing.T) {
	got := DeprecatedIn(map[string]string{
		"ctrlplane/run-for": "1s", "ctrlplane/exit-code": "1", "ctrlplane/test": "x",
		"ctrlplane.local/log": "x", "example.com/failed": "true",
	})
	if diff := cmp.Diff([]string{ExitCode, RunFor}, got); diff != "" {
		t.Error(diff)
	}
	for _, name := range renamed {
		if key, value, ok := Lookup(map[string]string{Deprecated(name): "x"}, name); !ok || value != "x" || key == name || !strings.HasPrefix(key, "ctrlplane/") {
			t.Errorf("%s by its deprecated name: %q, %q, %v", name, key, value, ok)
		}
	}
}
