package volumes

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/kubernetes/pkg/controller/volume/events"
	"k8s.io/utils/ptr"
)

// needsVolume reports whether the volume binder waits for a volume from us.
func needsVolume(c *corev1.PersistentVolumeClaim) bool {
	if c.Spec.VolumeName != "" || c.DeletionTimestamp != nil {
		return false
	}
	by, ok := c.Annotations[storagehelpers.AnnStorageProvisioner]
	if !ok {
		by = c.Annotations[storagehelpers.AnnBetaStorageProvisioner]
	}
	return isOurDriver(by)
}

// provisionClaim creates the volume of a claim that waits for one.
func (l *controller) provisionClaim(ctx context.Context, key cache.ObjectName) error {
	claim, err := l.claims.PersistentVolumeClaims(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || !needsVolume(claim) {
		return err
	}
	class, err := l.classes.Get(storagehelpers.GetPersistentVolumeClaimClass(claim))
	if err != nil {
		return l.provisioningFailed(claim, err)
	}
	node := claim.Annotations[storagehelpers.AnnSelectedNode]
	waits := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	if !isOurDriver(class.Provisioner) || waits && node == "" {
		return nil
	}
	if why := unsupportedReason(claim); why != "" {
		l.events.Event(claim, corev1.EventTypeWarning, events.ProvisioningFailed, why)
		return nil // to try again would not help: the specification cannot change
	}
	affinity, why, err := l.nodeAffinity(class, node)
	if why != "" {
		return l.rescheduleClaim(ctx, claim, why)
	}
	if err != nil {
		return l.provisioningFailed(claim, err)
	}
	return l.createVolume(ctx, claim, newVolume(claim, class, affinity))
}

// unsupportedReason says why there can be no volume for a claim; empty if there can.
func unsupportedReason(c *corev1.PersistentVolumeClaim) string {
	if c.Spec.Selector != nil {
		return "claims with a selector are not provisioned: remove spec.selector, or create a PersistentVolume that it matches"
	}
	kind := ""
	if s := c.Spec.DataSourceRef; s != nil {
		kind = s.Kind
	} else if s := c.Spec.DataSource; s != nil {
		kind = s.Kind
	}
	if kind != "" && kind != "PersistentVolumeClaim" {
		return fmt.Sprintf("simulated volumes hold no data and cannot be filled from a %s: remove spec.dataSource and spec.dataSourceRef", kind)
	}
	return ""
}

// provisioningFailed puts an error on the claim, where its owner looks for it.
func (l *controller) provisioningFailed(c *corev1.PersistentVolumeClaim, err error) error {
	l.events.Event(c, corev1.EventTypeWarning, events.ProvisioningFailed, err.Error())
	return fmt.Errorf("provision the volume of claim %s: %w", cache.MetaObjectToName(c), err)
}

// rescheduleClaim asks the scheduler for another node.
func (l *controller) rescheduleClaim(ctx context.Context, c *corev1.PersistentVolumeClaim, why string) error {
	l.events.Event(c, corev1.EventTypeWarning, events.ProvisioningFailed, why)
	c = c.DeepCopy()
	delete(c.Annotations, storagehelpers.AnnSelectedNode)
	if _, err := l.client.CoreV1().PersistentVolumeClaims(c.Namespace).Update(ctx, c, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("take the selected node off claim %s: %w", cache.MetaObjectToName(c), err)
	}
	return nil
}

func (l *controller) createVolume(ctx context.Context, c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) error {
	_, err := l.client.CoreV1().PersistentVolumes().Create(ctx, v, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // of this claim, whose UID is in the name: the cache lags
	}
	if err != nil {
		return l.provisioningFailed(c, err)
	}
	l.events.Eventf(c, corev1.EventTypeNormal, events.ProvisioningSucceeded, "Successfully provisioned volume %s", v.Name)
	return nil
}

// newVolume is a CSI volume, because nothing else fits: upstream's controllers
// leave it to its driver, ReadWriteOncePod is allowed for it, and a real kubelet
// refuses it, where it would make a hostPath a directory of its own machine.
func newVolume(c *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, affinity *corev1.VolumeNodeAffinity) *corev1.PersistentVolume {
	name := "pvc-" + string(c.UID)
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{storagehelpers.AnnDynamicallyProvisioned: DriverName},
		},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:                   c.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: c.Spec.Resources.Requests[corev1.ResourceStorage]},
			VolumeMode:                    c.Spec.VolumeMode,
			StorageClassName:              class.Name,
			VolumeAttributesClassName:     c.Spec.VolumeAttributesClassName,
			PersistentVolumeReclaimPolicy: ptr.Deref(class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete),
			MountOptions:                  class.MountOptions,
			NodeAffinity:                  affinity,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: DriverName, VolumeHandle: name},
			},
		},
	}
}
