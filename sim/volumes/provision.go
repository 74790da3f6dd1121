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

// needsVolume reports whether the volume binder waits for a volume of this provisioner.
func needsVolume(c *corev1.PersistentVolumeClaim) bool {
	if c.Spec.VolumeName != "" || c.DeletionTimestamp != nil {
		return false
	}
	by, ok := c.Annotations[storagehelpers.AnnStorageProvisioner]
	if !ok {
		by = c.Annotations[storagehelpers.AnnBetaStorageProvisioner]
	}
	return by == driverName
}

// provisionClaim creates the volume of a claim that needs one.
func (ctrl *controller) provisionClaim(ctx context.Context, key cache.ObjectName) error {
	claim, err := ctrl.claims.PersistentVolumeClaims(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || !needsVolume(claim) {
		return err
	}
	class, err := ctrl.classes.Get(storagehelpers.GetPersistentVolumeClaimClass(claim))
	if err != nil {
		return ctrl.provisioningFailed(claim, err)
	}
	node := claim.Annotations[storagehelpers.AnnSelectedNode]
	waits := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	if class.Provisioner != driverName || waits && node == "" {
		return nil
	}
	if why := unsupportedReason(claim); why != "" {
		ctrl.events.Event(claim, corev1.EventTypeWarning, events.ProvisioningFailed, why)
		return nil // a retry would fail, too: the spec is immutable
	}
	affinity, why, err := ctrl.nodeAffinity(class, node)
	if why != "" {
		return ctrl.rescheduleClaim(ctx, claim, why)
	}
	if err != nil {
		return ctrl.provisioningFailed(claim, err)
	}
	return ctrl.createVolume(ctx, claim, newVolume(claim, class, affinity))
}

// unsupportedReason returns why a claim cannot get a volume; empty if it can.
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
		return fmt.Sprintf("simulated volumes cannot be filled from a %s: remove spec.dataSource and spec.dataSourceRef", kind)
	}
	return ""
}

// provisioningFailed reports an error as an Event of the claim.
func (ctrl *controller) provisioningFailed(c *corev1.PersistentVolumeClaim, err error) error {
	ctrl.events.Event(c, corev1.EventTypeWarning, events.ProvisioningFailed, err.Error())
	return fmt.Errorf("provision the volume of claim %s: %w", cache.MetaObjectToName(c), err)
}

// rescheduleClaim makes the scheduler select another node.
func (ctrl *controller) rescheduleClaim(ctx context.Context, c *corev1.PersistentVolumeClaim, why string) error {
	ctrl.events.Event(c, corev1.EventTypeWarning, events.ProvisioningFailed, why)
	c = c.DeepCopy()
	delete(c.Annotations, storagehelpers.AnnSelectedNode)
	if _, err := ctrl.client.CoreV1().PersistentVolumeClaims(c.Namespace).Update(ctx, c, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("remove the selected node of claim %s: %w", cache.MetaObjectToName(c), err)
	}
	return nil
}

func (ctrl *controller) createVolume(ctx context.Context, c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) error {
	_, err := ctrl.client.CoreV1().PersistentVolumes().Create(ctx, v, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // the volume of this claim, whose UID is in its name: the cache lags
	}
	if err != nil {
		return ctrl.provisioningFailed(c, err)
	}
	ctrl.events.Eventf(c, corev1.EventTypeNormal, events.ProvisioningSucceeded, "Successfully provisioned volume %s", v.Name)
	return nil
}

// newVolume returns a CSI volume. No other type fits: upstream's controllers leave a
// CSI volume to its driver, it supports ReadWriteOncePod, and a real kubelet rejects
// it, while a hostPath would give Pods a directory of the kubelet's machine.
func newVolume(c *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, affinity *corev1.VolumeNodeAffinity) *corev1.PersistentVolume {
	name := "pvc-" + string(c.UID)
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{storagehelpers.AnnDynamicallyProvisioned: driverName},
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
				CSI: &corev1.CSIPersistentVolumeSource{Driver: driverName, VolumeHandle: name},
			},
		},
	}
}
