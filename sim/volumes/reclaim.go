package volumes

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/controller/volume/events"
)

// isOurs reports whether a volume is simulated.
func isOurs(v *corev1.PersistentVolume) bool {
	return v.Spec.CSI != nil && v.Spec.CSI.Driver == driverName
}

// isReclaimable reports whether a volume is released and its policy is Delete.
func isReclaimable(v *corev1.PersistentVolume) bool {
	return isOurs(v) && v.DeletionTimestamp == nil &&
		v.Status.Phase == corev1.VolumeReleased &&
		v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
}

// reclaimVolume deletes a released volume, unless it has changed since it was cached:
// its policy may be Retain now.
func (ctrl *controller) reclaimVolume(ctx context.Context, name string) error {
	v, err := ctrl.volumes.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || !isReclaimable(v) {
		return err
	}
	err = ctrl.client.CoreV1().PersistentVolumes().Delete(ctx, name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &v.UID, ResourceVersion: &v.ResourceVersion},
	})
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return nil
	case !apierrors.IsConflict(err):
		ctrl.events.Event(v, corev1.EventTypeWarning, events.VolumeFailedDelete, err.Error())
	}
	return fmt.Errorf("delete volume %s: %w", name, err)
}
