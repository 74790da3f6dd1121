package volumes

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/kubelet/events"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
)

// needsExpansion reports whether a claim requests more than the capacity of its volume.
func needsExpansion(c *corev1.PersistentVolumeClaim) bool {
	if c.Spec.VolumeName == "" || c.Status.Phase != corev1.ClaimBound || c.DeletionTimestamp != nil {
		return false
	}
	asked := c.Spec.Resources.Requests[corev1.ResourceStorage]
	given, known := c.Status.Capacity[corev1.ResourceStorage]
	return known && asked.Cmp(given) > 0
}

// expandClaim expands the volume of a claim that requests more. The API server has
// checked that its StorageClass allows that.
func (ctrl *controller) expandClaim(ctx context.Context, key cache.ObjectName) error {
	claim, err := ctrl.claims.PersistentVolumeClaims(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || !needsExpansion(claim) {
		return err
	}
	v, err := ctrl.volumes.Get(claim.Spec.VolumeName)
	if err != nil {
		return fmt.Errorf("expand claim %s: %w", key, err)
	}
	if !isOurs(v) || v.Spec.ClaimRef == nil || v.Spec.ClaimRef.UID != claim.UID {
		return nil
	}
	// The cached claim may be older than an expansion that is complete.
	claim, err = ctrl.client.CoreV1().PersistentVolumeClaims(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || v.Spec.ClaimRef.UID != claim.UID || !needsExpansion(claim) {
		return err
	}
	if err := ctrl.growVolume(claim, v); err != nil {
		ctrl.events.Event(claim, corev1.EventTypeWarning, events.VolumeResizeFailed, err.Error())
		return fmt.Errorf("expand claim %s: %w", key, err)
	}
	return nil
}

// growVolume makes the writes of an external resizer whose driver has nothing to do on
// the node. If one fails, the next call makes the remaining ones.
func (ctrl *controller) growVolume(claim *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) error {
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if have := v.Spec.Capacity[corev1.ResourceStorage]; have.Cmp(size) > 0 {
		size = have
	}
	claim, err := volumeutil.MarkControllerReisizeInProgress(claim, driverName, size, ctrl.client)
	if err != nil {
		return err
	}
	ctrl.events.Eventf(claim, corev1.EventTypeNormal, "Resizing", "External resizer is resizing volume %s", v.Name)
	if _, err = volumeutil.UpdatePVSize(v, size, ctrl.client); err != nil {
		return err
	}
	if claim, err = volumeutil.MarkResizeFinished(claim, size, ctrl.client); err != nil {
		return err
	}
	ctrl.events.Event(claim, corev1.EventTypeNormal, events.VolumeResizeSuccess, "Resize volume succeeded")
	return nil
}
