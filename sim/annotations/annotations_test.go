package annotations

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestNodeState(t *testing.T) {
	for _, tc := range []struct {
		set              map[string]string
		failed, terminal bool
	}{
		{nil, false, false},
		{map[string]string{"ctrlplane.local/failed": "true"}, true, false},
		{map[string]string{"ctrlplane.local/terminated": "true"}, false, true},
		{map[string]string{"ctrlplane.local/failed": "false", "ctrlplane.local/terminated": "false"}, false, false},
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
