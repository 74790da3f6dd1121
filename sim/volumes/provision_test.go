package volumes

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestVolumeMatchesClaim(t *testing.T) {
	runInCluster(t, func(c *testCluster) {
		c.runProvisioner()
		want := []corev1.PersistentVolume{{
			ObjectMeta: metav1.ObjectMeta{Name: "pvc-a", Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": driverName}},
			Spec: corev1.PersistentVolumeSpec{
				AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadOnlyMany},
				Capacity:                      storageList("1Gi"),
				VolumeMode:                    new(corev1.PersistentVolumeBlock),
				StorageClassName:              "keep",
				VolumeAttributesClassName:     new("gold"),
				PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
				MountOptions:                  []string{"noatime"},
				ClaimRef: &corev1.ObjectReference{
					Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: "a", UID: "a", ResourceVersion: "7"},
				PersistentVolumeSource: corev1.PersistentVolumeSource{
					CSI: &corev1.CSIPersistentVolumeSource{Driver: driverName, VolumeHandle: "pvc-a"}},
			},
		}}
		if diff := cmp.Diff(want, c.listVolumes(), ignoreServerFields); diff != "" {
			c.t.Error(diff)
		}
		if diff := cmp.Diff([]string{"Normal ProvisioningSucceeded"}, c.takeEventReasons()); diff != "" {
			c.t.Error(diff)
		}
	}, newRetainClass(), newClaim("a", "keep", func(c *corev1.PersistentVolumeClaim) {
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadOnlyMany}
		c.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
		c.Spec.VolumeAttributesClassName = new("gold")
	}))
}

func newRetainClass() *storagev1.StorageClass {
	s := newImmediateClass("keep")
	s.ReclaimPolicy, s.MountOptions = new(corev1.PersistentVolumeReclaimRetain), []string{"noatime"}
	return s
}

// newForeignClass returns a StorageClass of another provisioner.
func newForeignClass() *storagev1.StorageClass {
	s := newImmediateClass("other")
	s.Provisioner = "example.com/disk"
	return s
}

func TestClaimsThatGetVolumes(t *testing.T) {
	type claim = corev1.PersistentVolumeClaim
	later := newDefaultClass(storagev1.VolumeBindingWaitForFirstConsumer)
	bare := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "bare"}, Provisioner: driverName}
	source := func(kind string) func(*claim) {
		return func(c *claim) {
			c.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: kind, Name: "s"}
			c.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: kind, Name: "s"}
		}
	}
	for name, test := range map[string]struct {
		claim  *claim
		volume bool
		event  string // part of its message
	}{
		"at once":             {newClaim("a", "now"), true, "Successfully provisioned volume pvc-a"},
		"class with defaults": {newClaim("a", "bare"), true, "Successfully"},
		"old annotation": {newClaim("a", "now", func(c *claim) {
			c.Annotations = map[string]string{"volume.beta.kubernetes.io/storage-provisioner": driverName}
		}), true, "Successfully"},
		"node selected":     {newClaim("a", className, withSelectedNode("anywhere")), true, "Successfully"},
		"no node selected":  {newClaim("a", className), false, ""},
		"copy of a claim":   {newClaim("a", "now", source("PersistentVolumeClaim")), true, "Successfully"},
		"not for us":        {newClaim("a", "now", func(c *claim) { c.Annotations = nil }), false, ""},
		"class of another":  {newClaim("a", "other"), false, ""},
		"bound already":     {newClaim("a", "now", func(c *claim) { c.Spec.VolumeName = "x" }), false, ""},
		"being deleted":     {newClaim("a", "now", func(c *claim) { c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: time.Now()}, []string{"x/y"} }), false, ""},
		"selector":          {newClaim("a", "now", func(c *claim) { c.Spec.Selector = &metav1.LabelSelector{} }), false, "remove spec.selector"},
		"snapshot":          {newClaim("a", "now", source("VolumeSnapshot")), false, "cannot be filled from a VolumeSnapshot"},
		"old data source":   {newClaim("a", "now", source("X"), func(c *claim) { c.Spec.DataSourceRef = nil }), false, "cannot be filled from a X"},
		"class that is not": {newClaim("a", "nosuch"), false, `"nosuch" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			runInCluster(t, func(c *testCluster) {
				c.runProvisioner()
				if got := len(c.listVolumes()) == 1; got != test.volume {
					c.t.Errorf("a volume: %v, want %v", got, test.volume)
				}
				switch {
				case test.event == "" && len(c.events) > 0:
					c.t.Errorf("got %v", c.takeEventReasons())
				case test.event != "" && (len(c.events) == 0 || !strings.Contains(c.events[0].Message, test.event)):
					c.t.Errorf("got %v, want %q", c.events, test.event)
				}
			}, test.claim, newImmediateClass("now"), later, bare, newForeignClass())
		})
	}
}

func TestProvisionAfterNodeIsSelected(t *testing.T) {
	runInCluster(t, func(c *testCluster) {
		c.runProvisioner()
		claim := c.getClaim("a")
		withSelectedNode("node-1")(claim)
		c.updateClaim(claim)
		if n := len(c.listVolumes()); n != 1 {
			c.t.Errorf("%d volumes, want 1", n)
		}
	}, newClaim("a", className), newDefaultClass(storagev1.VolumeBindingWaitForFirstConsumer))
}

func TestProvisionIsRetried(t *testing.T) {
	for name, provoke := range map[string]func(*testCluster) runtime.Object{
		"create fails": func(c *testCluster) runtime.Object {
			c.failCalls(1, "create", "persistentvolumes", errors.New("no room"))
			return newImmediateClass("now")
		},
		"class comes later": func(c *testCluster) runtime.Object { return newImmediateClass("later") },
	} {
		t.Run(name, func(t *testing.T) {
			runInCluster(t, func(c *testCluster) {
				first := provoke(c)
				c.must(c.client.Tracker().Add(first))
				c.runProvisioner()
				if diff := cmp.Diff([]string{"Warning ProvisioningFailed"}, c.takeEventReasons()); diff != "" {
					c.t.Error(diff)
				}
				if err := c.client.Tracker().Add(newImmediateClass("now")); name == "class comes later" {
					c.must(err)
				}
				c.advance(time.Minute)
				if n := len(c.listVolumes()); n != 1 {
					c.t.Errorf("%d volumes, want 1", n)
				}
			}, newClaim("a", "now"))
		})
	}
}

func TestRestartProvisionsOnce(t *testing.T) {
	runInCluster(t, func(c *testCluster) {
		c.runProvisioner()()
		c.takeEventReasons()
		c.runProvisioner()
		if got := c.takeEventReasons(); len(got) != 0 {
			c.t.Errorf("got %v", got)
		}
		if n := len(c.listVolumes()); n != 1 {
			c.t.Errorf("%d volumes, want 1", n)
		}
	}, newClaim("a", "now"), newImmediateClass("now"))
}
