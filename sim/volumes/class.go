package volumes

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
)

// ensureDefaultsWithRetry retries ensureDefaults: the permissions of the provisioner
// may not exist yet when the control plane starts. It fails when the context ends.
func (ctrl *controller) ensureDefaultsWithRetry(ctx context.Context) error {
	delay := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Steps: 10, Cap: 30 * time.Second}.DelayFunc()
	return delay.Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := ctrl.ensureDefaults(ctx)
		if err != nil {
			klog.FromContext(ctx).Info("Volumes cannot be provisioned yet, retrying", "err", err)
		}
		return err == nil, nil
	})
}

// ensureDefaults creates the CSIDriver, and a default StorageClass if there is none.
func (ctrl *controller) ensureDefaults(ctx context.Context) error {
	_, err := ctrl.drivers.Get(driverName)
	if apierrors.IsNotFound(err) {
		_, err = ctrl.client.StorageV1().CSIDrivers().Create(ctx, newCSIDriver(), metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create CSIDriver %s: %w", driverName, err)
	}
	if def, err := volumeutil.GetDefaultClass(ctrl.classes); err != nil || def != nil {
		return err
	}
	_, err = ctrl.client.StorageV1().StorageClasses().Create(ctx, newDefaultClass(ctrl.bindingMode), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create StorageClass %s: %w", className, err)
	}
	return nil
}

// newCSIDriver returns a CSIDriver that needs no attachment. Without it, the
// attach-detach controller would create VolumeAttachments that nothing completes.
func newCSIDriver() *storagev1.CSIDriver {
	return &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: driverName},
		Spec:       storagev1.CSIDriverSpec{AttachRequired: new(false)},
	}
}

func newDefaultClass(mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name:        className,
			Annotations: map[string]string{volumeutil.IsDefaultStorageClassAnnotation: "true"},
		},
		Provisioner:          driverName,
		ReclaimPolicy:        new(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode:    &mode,
		AllowVolumeExpansion: new(true),
	}
}
