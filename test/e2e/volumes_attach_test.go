package e2e_test

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newDriverVolume makes a claim named data and a volume of a CSI driver that is
// bound to it.
func newDriverVolume(t *testing.T, ns, driver string) (pv string) {
	t.Helper()
	class := unique("class")
	createShared(t, plane.client.StorageV1().StorageClasses(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: driver, AllowVolumeExpansion: new(true),
	}, class)
	pv = unique("pv")
	createShared(t, plane.client.CoreV1().PersistentVolumes(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: pv},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName:       class,
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "disk"}},
		},
	}, pv)
	create(t, claims(ns), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claimSpec(class, "1Gi")})
	await(t, "bound claim", one(claims(ns), "data"), func(c *corev1.PersistentVolumeClaim) bool { return c.Status.Phase == corev1.ClaimBound })
	return pv
}

// A volume is attached to the node of the Pod that mounts it, and detached when
// the Pod is gone; the driver does the work.
func TestVolumeAttachment(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	driver := unique("csi") + customGroup
	createShared(t, plane.client.StorageV1().CSIDrivers(), &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{AttachRequired: new(true)},
	}, driver)
	pv := newDriverVolume(t, ns, driver)
	n := startNode(t, nil)
	modify(t, plane.client.CoreV1().Nodes(), n.name, func(n *corev1.Node) {
		n.Annotations["volumes.kubernetes.io/controller-managed-attach-detach"] = "true" // as kubelets set it
	})
	p := newPod("user", nil)
	p.Spec.NodeName, p.Spec.TerminationGracePeriodSeconds = n.name, new(int64(0))
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	create(t, pods(ns), p)

	attachments := plane.client.StorageV1().VolumeAttachments()
	ours := func(ctx context.Context) ([]storagev1.VolumeAttachment, error) {
		l, err := attachments.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(l.Items, func(a storagev1.VolumeAttachment) bool { return a.Spec.Attacher != driver }), nil
	}
	a := await(t, "attachment", ours, func(l []storagev1.VolumeAttachment) bool { return len(l) == 1 })[0]
	if *a.Spec.Source.PersistentVolumeName != pv || a.Spec.NodeName != n.name {
		t.Errorf("attachment of %s to %s, want %s to %s", *a.Spec.Source.PersistentVolumeName, a.Spec.NodeName, pv, n.name)
	}
	modifyStatus(t, attachments, a.Name, func(a *storagev1.VolumeAttachment) { a.Status.Attached = true }) // plays the driver
	await(t, "attached volume in the node's status", one(plane.client.CoreV1().Nodes(), n.name), func(n *corev1.Node) bool {
		return len(n.Status.VolumesAttached) == 1
	})
	awaitEvent(t, ns, "Pod", "user", "SuccessfulAttachVolume")

	remove(t, pods(ns), "user")
	await(t, "end of the attachment", ours, func(l []storagev1.VolumeAttachment) bool { return len(l) == 0 })
}

// Growth of a driver's volume is left to the driver.
func TestVolumeExpansion(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	newDriverVolume(t, ns, unique("csi")+customGroup)
	modify(t, claims(ns), "data", func(c *corev1.PersistentVolumeClaim) {
		c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
	})
	awaitEvent(t, ns, "PersistentVolumeClaim", "data", "ExternalExpanding")
}
