package recording

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestUnchanged(t *testing.T) {
	node := func(change func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n1", ResourceVersion: "1", Labels: map[string]string{"a": "b"}},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		}
		change(n)
		return n
	}
	meta := func(n *corev1.Node) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: n.ObjectMeta}
	}
	before := node(func(*corev1.Node) {})
	heartbeat := func(n *corev1.Node) {
		n.ResourceVersion, n.ManagedFields = "2", []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
		n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(time.Unix(300, 0))
	}
	for name, tc := range map[string]struct {
		change           func(*corev1.Node)
		object, metadata bool
	}{
		"heartbeat": {heartbeat, true, true},
		"not ready": {func(n *corev1.Node) { heartbeat(n); n.Status.Conditions[0].Status = corev1.ConditionFalse }, false, true},
		"condition": {func(n *corev1.Node) {
			heartbeat(n)
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{})
		}, false, true},
		"taint": {func(n *corev1.Node) { heartbeat(n); n.Spec.Taints = []corev1.Taint{{Key: "a"}} }, false, true},
		"label": {func(n *corev1.Node) { heartbeat(n); n.Labels = map[string]string{"a": "c"} }, false, false},
	} {
		after := node(tc.change)
		if got := isUnchanged(before, after); got != tc.object {
			t.Errorf("%s: unchanged %v", name, got)
		}
		if got := isUnchanged(meta(before), meta(after)); got != tc.metadata {
			t.Errorf("%s: metadata unchanged %v", name, got)
		}
	}
	if before.ResourceVersion != "1" || !before.Status.Conditions[0].LastHeartbeatTime.IsZero() {
		t.Errorf("the object was changed: %+v", before)
	}
	if isUnchanged(&corev1.Pod{}, &corev1.Pod{}) {
		t.Error("a Pod is taken for unchanged")
	}
}
