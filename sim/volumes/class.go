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

// ensureDefaultsWithRetry makes what volumes need before the first is provisioned, and tries
// until it can: at start the roles may not be there yet. It fails when the
// context ends.
func (l *controller) ensureDefaultsWithRetry(ctx context.Context) error {
	delay := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Steps: 10, Cap: 30 * time.Second}.DelayFunc()
	return delay.Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := l.ensureDefaults(ctx)
		if err != nil {
			klog.FromContext(ctx).Info("Volumes cannot be provisioned yet, trying again", "err", err)
		}
		return err == nil, nil
	})
}

// ensureDefaults creates the driver and the class, and changes neither if it is there.
func (l *controller) ensureDefaults(ctx context.Context) error {
	_, err := l.client.StorageV1().CSIDrivers().Create(ctx, newCSIDriver(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create CSIDriver %s: %w", DriverName, err)
	}
	if def, err := volumeutil.GetDefaultClass(l.classes); err != nil || def != nil {
		return err
	}
	_, err = l.client.StorageV1().StorageClasses().Create(ctx, newDefaultClass(l.bindingMode), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create StorageClass %s: %w", ClassName, err)
	}
	return nil
}

// newCSIDriver tells the attach-detach controller that there is nothing to attach:
// without it every Pod would get a VolumeAttachment that nobody answers.
func newCSIDriver() *storagev1.CSIDriver {
	return &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: DriverName},
		Spec:       storagev1.CSIDriverSpec{AttachRequired: new(false)},
	}
}

func newDefaultClass(mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name:        ClassName,
			Annotations: map[string]string{volumeutil.IsDefaultStorageClassAnnotation: "true"},
		},
		Provisioner:          DriverName,
		ReclaimPolicy:        new(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode:    &mode,
		AllowVolumeExpansion: new(true),
	}
}
