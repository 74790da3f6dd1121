package e2e_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

func claims(ns string) corev1client.PersistentVolumeClaimInterface {
	return controlPlane.client.CoreV1().PersistentVolumeClaims(ns)
}

func claimSpec(class, size string) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class,
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
	}
}

// createVolume creates a volume of a class, which need not exist, with reclaim policy
// Retain.
func createVolume(t *testing.T, class, size string) string {
	t.Helper()
	name := uniqueName("pv")
	createShared(t, controlPlane.client.CoreV1().PersistentVolumes(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName:              class,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}},
		},
	}, name)
	return name
}

// withEphemeralVolume adds a volume whose claim is created and deleted with the Pod.
func withEphemeralVolume(p *corev1.Pod) *corev1.Pod {
	p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
		Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claimSpec("", "1Gi")}},
	}}}
	return p
}

func TestVolumeBinding(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	volumes, class := controlPlane.client.CoreV1().PersistentVolumes(), uniqueName("class")
	big, fitting, small := createVolume(t, class, "10Gi"), createVolume(t, class, "2Gi"), createVolume(t, class, "1Gi")
	for _, name := range []string{big, fitting, small} {
		await(t, "available volume", getByName(volumes, name), func(pv *corev1.PersistentVolume) bool { return pv.Status.Phase == corev1.VolumeAvailable })
	}
	createObject(t, claims(ns), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claimSpec(class, "2Gi")})
	c := await(t, "bound claim", getByName(claims(ns), "data"), func(c *corev1.PersistentVolumeClaim) bool { return c.Status.Phase == corev1.ClaimBound })
	if c.Spec.VolumeName != fitting || c.Status.Capacity.Storage().String() != "2Gi" || !slices.Contains(c.Finalizers, "kubernetes.io/pvc-protection") {
		t.Errorf("the claim has volume %s (want %s), capacity %v, finalizers %v", c.Spec.VolumeName, fitting, c.Status.Capacity, c.Finalizers)
	}
	pv := await(t, "bound volume", getByName(volumes, fitting), func(pv *corev1.PersistentVolume) bool { return pv.Status.Phase == corev1.VolumeBound })
	if pv.Spec.ClaimRef.UID != c.UID || !slices.Contains(pv.Finalizers, "kubernetes.io/pv-protection") {
		t.Errorf("the volume has claim %+v, finalizers %v", pv.Spec.ClaimRef, pv.Finalizers)
	}

	// Neither is deleted while in use: the volume by the claim, the claim by a Pod.
	n := startFakeNode(t, nil)
	user := newPod("user", nil)
	user.Spec.NodeName, user.Spec.TerminationGracePeriodSeconds = n.name, new(int64(0))
	user.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	createObject(t, pods(ns), user)
	deleteObject(t, volumes, fitting)
	deleteObject(t, claims(ns), "data")
	c = getObject(t, claims(ns), "data")
	if c.DeletionTimestamp == nil || !slices.Contains(c.Finalizers, "kubernetes.io/pvc-protection") {
		t.Errorf("the claim in use is being deleted since %v, with finalizers %v", c.DeletionTimestamp, c.Finalizers)
	}
	if pv := getObject(t, volumes, fitting); pv.DeletionTimestamp == nil || pv.Status.Phase != corev1.VolumeBound {
		t.Errorf("the volume in use is being deleted since %v, in phase %s", pv.DeletionTimestamp, pv.Status.Phase)
	}
	deleteObject(t, pods(ns), "user")
	awaitGone(t, "claim", getByName(claims(ns), "data"))
	awaitGone(t, "volume", getByName(volumes, fitting))
}

// A retained volume is released and not bound to the next claim.
func TestVolumeRelease(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	volumes, class := controlPlane.client.CoreV1().PersistentVolumes(), uniqueName("class")
	name := createVolume(t, class, "1Gi")
	createObject(t, claims(ns), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claimSpec(class, "1Gi")})
	c := await(t, "bound claim", getByName(claims(ns), "data"), func(c *corev1.PersistentVolumeClaim) bool { return c.Status.Phase == corev1.ClaimBound })
	deleteObject(t, claims(ns), "data")
	pv := await(t, "released volume", getByName(volumes, name), func(pv *corev1.PersistentVolume) bool { return pv.Status.Phase == corev1.VolumeReleased })
	if pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID != c.UID {
		t.Errorf("the released volume has claim %+v, want %s", pv.Spec.ClaimRef, c.UID)
	}
	createObject(t, claims(ns), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claimSpec(class, "1Gi")})
	awaitEvent(t, ns, "PersistentVolumeClaim", "data", "ProvisioningFailed") // the class does not exist
	if c := getObject(t, claims(ns), "data"); c.Status.Phase != corev1.ClaimPending {
		t.Errorf("the second claim is %s", c.Status.Phase)
	}
	updateObject(t, volumes, name, func(pv *corev1.PersistentVolume) { pv.Spec.ClaimRef = nil })
	await(t, "second claim bound to the volume", getByName(claims(ns), "data"), func(c *corev1.PersistentVolumeClaim) bool {
		return c.Status.Phase == corev1.ClaimBound && c.Spec.VolumeName == name
	})
}

// A claim of a class with another provisioner is left to that provisioner.
func TestVolumeProvisioning(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	class := uniqueName("class")
	createShared(t, controlPlane.client.StorageV1().StorageClasses(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "csi.e2e.example",
	}, class)
	createObject(t, claims(ns), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claimSpec(class, "1Gi")})
	await(t, "claim for the external provisioner", getByName(claims(ns), "data"), func(c *corev1.PersistentVolumeClaim) bool {
		return c.Annotations["volume.kubernetes.io/storage-provisioner"] == "csi.e2e.example"
	})
	awaitEvent(t, ns, "PersistentVolumeClaim", "data", "ExternalProvisioning")
}

func TestEphemeralVolume(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	p := createObject(t, pods(ns), withEphemeralVolume(newPod("web", nil)))
	c := await(t, "claim of the pod", getByName(claims(ns), "web-scratch"), anyState)
	requireController(t, c, "Pod", p.Name)
	deleteObject(t, pods(ns), "web")
	awaitGone(t, "claim of the pod", getByName(claims(ns), "web-scratch"))
}

func TestVolumeAttributesClassProtection(t *testing.T) {
	t.Parallel()
	name := uniqueName("class")
	classes := controlPlane.client.StorageV1().VolumeAttributesClasses()
	createShared(t, classes, &storagev1.VolumeAttributesClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, DriverName: "csi.e2e.example", Parameters: map[string]string{"iops": "100"},
	}, name)
	await(t, "protected class", getByName(classes, name), func(c *storagev1.VolumeAttributesClass) bool {
		return slices.Contains(c.Finalizers, "kubernetes.io/vac-protection")
	})
	deleteObject(t, classes, name)
	awaitGone(t, "class that nothing uses", getByName(classes, name))
}
