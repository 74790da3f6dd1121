package recording

import (
	"bytes"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/internal/requestkind"
)

// isUnchanged reports whether an update tells a controller nothing: of a Node only the heartbeats have changed, of a ConfigMap or of
// Endpoints the lock of a leader election, or it receives metadata only, and the change was elsewhere.
func isUnchanged(before, after any) bool {
	switch after := after.(type) {
	case *corev1.Node:
		before, ok := before.(*corev1.Node)
		return ok && sameMetadata(&before.ObjectMeta, &after.ObjectMeta) && differsByHeartbeat(before, after)
	case *corev1.ConfigMap:
		before, ok := before.(*corev1.ConfigMap)
		return ok && isRenewed(&before.ObjectMeta, &after.ObjectMeta) && ptr.Equal(before.Immutable, after.Immutable) &&
			maps.Equal(before.Data, after.Data) && maps.EqualFunc(before.BinaryData, after.BinaryData, bytes.Equal)
	case *corev1.Endpoints: //nolint:staticcheck // locks are in them, too
		before, ok := before.(*corev1.Endpoints) //nolint:staticcheck // as above
		return ok && isRenewed(&before.ObjectMeta, &after.ObjectMeta) && apiequality.Semantic.DeepEqual(before.Subsets, after.Subsets)
	case *metav1.PartialObjectMetadata:
		before, ok := before.(*metav1.PartialObjectMetadata)
		return ok && sameMetadata(&before.ObjectMeta, &after.ObjectMeta)
	}
	return false
}

// isRenewed reports whether of the metadata only the lock of a leader election differs.
func isRenewed(before, after *metav1.ObjectMeta) bool {
	was, had := before.Annotations[requestkind.LeaderAnnotation]
	is, has := after.Annotations[requestkind.LeaderAnnotation]
	return had && has && was != is && sameMetadata(before, after)
}

// sameMetadata reports whether only the version, the managed fields and the lock of a leader election of an object differ.
func sameMetadata(a, b *metav1.ObjectMeta) bool {
	return a.UID == b.UID && a.Generation == b.Generation && a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		ptr.Equal(a.DeletionGracePeriodSeconds, b.DeletionGracePeriodSeconds) &&
		maps.Equal(a.Labels, b.Labels) && sameAnnotations(a.Annotations, b.Annotations) && slices.Equal(a.Finalizers, b.Finalizers) &&
		slices.EqualFunc(a.OwnerReferences, b.OwnerReferences, func(a, b metav1.OwnerReference) bool {
			return a.UID == b.UID && a.Name == b.Name && ptr.Equal(a.Controller, b.Controller) && ptr.Equal(a.BlockOwnerDeletion, b.BlockOwnerDeletion)
		})
}

func sameAnnotations(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		if other, ok := b[name]; !ok || other != value && name != requestkind.LeaderAnnotation {
			return false
		}
	}
	return true
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
