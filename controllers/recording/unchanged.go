package recording

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// isUnchanged reports whether an update tells a controller nothing: of a Node only the heartbeats
// have changed, or it receives metadata only, and the change was elsewhere.
func isUnchanged(before, after any) bool {
	switch after := after.(type) {
	case *corev1.Node:
		before, ok := before.(*corev1.Node)
		return ok && sameMetadata(&before.ObjectMeta, &after.ObjectMeta) && differsByHeartbeat(before, after)
	case *metav1.PartialObjectMetadata:
		before, ok := before.(*metav1.PartialObjectMetadata)
		return ok && sameMetadata(&before.ObjectMeta, &after.ObjectMeta)
	}
	return false
}

// sameMetadata reports whether only the version and the managed fields of an object differ.
func sameMetadata(a, b *metav1.ObjectMeta) bool {
	return a.UID == b.UID && a.Generation == b.Generation && a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		ptr.Equal(a.DeletionGracePeriodSeconds, b.DeletionGracePeriodSeconds) &&
		maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) && slices.Equal(a.Finalizers, b.Finalizers) &&
		slices.EqualFunc(a.OwnerReferences, b.OwnerReferences, func(a, b metav1.OwnerReference) bool {
			return a.UID == b.UID && a.Name == b.Name && ptr.Equal(a.Controller, b.Controller) && ptr.Equal(a.BlockOwnerDeletion, b.BlockOwnerDeletion)
		})
}

func differsByHeartbeat(before, after *corev1.Node) bool {
	if len(before.Status.Conditions) != len(after.Status.Conditions) || !apiequality.Semantic.DeepEqual(before.Spec, after.Spec) {
		return false
	}
	same := before.Status
	same.Conditions = slices.Clone(before.Status.Conditions)
	for i := range same.Conditions {
		same.Conditions[i].LastHeartbeatTime = after.Status.Conditions[i].LastHeartbeatTime
	}
	return apiequality.Semantic.DeepEqual(same, after.Status)
}
