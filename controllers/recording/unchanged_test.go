package recording

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/requestkind"
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

// The renewal of a lock that is a ConfigMap tells a controller nothing, nor does that of one in Endpoints.
func TestRenewedLockIsUnchanged(t *testing.T) {
	lock := func(change func(*corev1.ConfigMap)) *corev1.ConfigMap {
		m := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "le", ResourceVersion: "2", Annotations: map[string]string{requestkind.LeaderAnnotation: "2", "a": "b"}},
			Data:       map[string]string{"a": "1"},
		}
		change(m)
		return m
	}
	before := lock(func(m *corev1.ConfigMap) { m.ResourceVersion, m.Annotations[requestkind.LeaderAnnotation] = "1", "1" })
	for name, tc := range map[string]struct {
		change           func(*corev1.ConfigMap)
		object, metadata bool
	}{
		"renewed":            {func(*corev1.ConfigMap) {}, true, true},
		"not renewed":        {func(m *corev1.ConfigMap) { m.Annotations[requestkind.LeaderAnnotation] = "1" }, false, true},
		"data":               {func(m *corev1.ConfigMap) { m.Data["a"] = "2" }, false, true},
		"binary data":        {func(m *corev1.ConfigMap) { m.BinaryData = map[string][]byte{"b": nil} }, false, true},
		"immutable":          {func(m *corev1.ConfigMap) { m.Immutable = new(true) }, false, true},
		"another annotation": {func(m *corev1.ConfigMap) { m.Annotations["a"] = "c" }, false, false},
		"replaced":           {func(m *corev1.ConfigMap) { delete(m.Annotations, "a"); m.Annotations["c"] = "b" }, false, false},
		"label":              {func(m *corev1.ConfigMap) { m.Labels = map[string]string{"a": "b"} }, false, false},
		"released":           {func(m *corev1.ConfigMap) { delete(m.Annotations, requestkind.LeaderAnnotation) }, false, false},
	} {
		after := lock(tc.change)
		if got := isUnchanged(before, after); got != tc.object {
			t.Errorf("%s: ConfigMap %v", name, got)
		}
		if got := isUnchanged(&metav1.PartialObjectMetadata{ObjectMeta: before.ObjectMeta}, &metav1.PartialObjectMetadata{ObjectMeta: after.ObjectMeta}); got != tc.metadata {
			t.Errorf("%s: metadata %v", name, got)
		}
	}
	endpoints := &corev1.Endpoints{ObjectMeta: lock(func(*corev1.ConfigMap) {}).ObjectMeta} //nolint:staticcheck // locks are in them, too
	if !isUnchanged(&corev1.Endpoints{ObjectMeta: before.ObjectMeta}, endpoints) {          //nolint:staticcheck // as above
		t.Error("Endpoints")
	}
}
