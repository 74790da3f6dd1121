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

func TestVolumeIsAsAsked(t *testing.T) {
	inCluster(t, func(c *cluster) {
		c.run()
		want := []corev1.PersistentVolume{{
			ObjectMeta: metav1.ObjectMeta{Name: "pvc-a", Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": Driver}},
			Spec: corev1.PersistentVolumeSpec{
				AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadOnlyMany},
				Capacity:                      storage("1Gi"),
				VolumeMode:                    new(corev1.PersistentVolumeBlock),
				StorageClassName:              "keep",
				VolumeAttributesClassName:     new("gold"),
				PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
				MountOptions:                  []string{"noatime"},
				ClaimRef: &corev1.ObjectReference{
					Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: "a", UID: "a", ResourceVersion: "7"},
				PersistentVolumeSource: corev1.PersistentVolumeSource{
					CSI: &corev1.CSIPersistentVolumeSource{Driver: Driver, VolumeHandle: "pvc-a"}},
			},
		}}
		if diff := cmp.Diff(want, c.volumes(), asStored); diff != "" {
			c.t.Error(diff)
		}
		if diff := cmp.Diff([]string{"Normal ProvisioningSucceeded"}, c.reasons()); diff != "" {
			c.t.Error(diff)
		}
	}, keep(), waiting("a", "keep", func(c *corev1.PersistentVolumeClaim) {
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadOnlyMany}
		c.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
		c.Spec.VolumeAttributesClassName = new("gold")
	}))
}

func keep() *storagev1.StorageClass {
	s := immediate("keep")
	s.ReclaimPolicy, s.MountOptions = new(corev1.PersistentVolumeReclaimRetain), []string{"noatime"}
	return s
}

// other is a class of somebody else's.
func other() *storagev1.StorageClass {
	s := immediate("other")
	s.Provisioner = "example.com/disk"
	return s
}

func TestWhichClaimsGetVolumes(t *testing.T) {
	type claim = corev1.PersistentVolumeClaim
	later := class(storagev1.VolumeBindingWaitForFirstConsumer)
	bare := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "bare"}, Provisioner: Driver}
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
		"at once":             {waiting("a", "now"), true, "Successfully provisioned volume pvc-a"},
		"class with defaults": {waiting("a", "bare"), true, "Successfully"},
		"old annotation": {waiting("a", "now", func(c *claim) {
			c.Annotations = map[string]string{"volume.beta.kubernetes.io/storage-provisioner": Driver}
		}), true, "Successfully"},
		"node selected":     {waiting("a", ClassName, selected("anywhere")), true, "Successfully"},
		"no node selected":  {waiting("a", ClassName), false, ""},
		"copy of a claim":   {waiting("a", "now", source("PersistentVolumeClaim")), true, "Successfully"},
		"not for us":        {waiting("a", "now", func(c *claim) { c.Annotations = nil }), false, ""},
		"class of another":  {waiting("a", "other"), false, ""},
		"bound already":     {waiting("a", "now", func(c *claim) { c.Spec.VolumeName = "x" }), false, ""},
		"being deleted":     {waiting("a", "now", func(c *claim) { c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: time.Now()}, []string{"x/y"} }), false, ""},
		"selector":          {waiting("a", "now", func(c *claim) { c.Spec.Selector = &metav1.LabelSelector{} }), false, "remove spec.selector"},
		"snapshot":          {waiting("a", "now", source("VolumeSnapshot")), false, "cannot be filled from a VolumeSnapshot"},
		"old data source":   {waiting("a", "now", source("X"), func(c *claim) { c.Spec.DataSourceRef = nil }), false, "cannot be filled from a X"},
		"class that is not": {waiting("a", "nosuch"), false, `"nosuch" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(c *cluster) {
				c.run()
				if got := len(c.volumes()) == 1; got != test.volume {
					c.t.Errorf("a volume: %v, want %v", got, test.volume)
				}
				switch {
				case test.event == "" && len(c.events) > 0:
					c.t.Errorf("got %v", c.reasons())
				case test.event != "" && (len(c.events) == 0 || !strings.Contains(c.events[0].Message, test.event)):
					c.t.Errorf("got %v, want %q", c.events, test.event)
				}
			}, test.claim, immediate("now"), later, bare, other())
		})
	}
}

func TestProvisionOnceNodeIsSelected(t *testing.T) {
	inCluster(t, func(c *cluster) {
		c.run()
		claim := c.claim("a")
		selected("node-1")(claim)
		c.update(claim)
		if n := len(c.volumes()); n != 1 {
			c.t.Errorf("%d volumes, want 1", n)
		}
	}, waiting("a", ClassName), class(storagev1.VolumeBindingWaitForFirstConsumer))
}

func TestProvisionIsTriedAgain(t *testing.T) {
	for name, provoke := range map[string]func(*cluster) runtime.Object{
		"create fails": func(c *cluster) runtime.Object {
			c.fail(1, "create", "persistentvolumes", errors.New("no room"))
			return immediate("now")
		},
		"class comes later": func(c *cluster) runtime.Object { return immediate("later") },
	} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(c *cluster) {
				first := provoke(c)
				c.must(c.client.Tracker().Add(first))
				c.run()
				if diff := cmp.Diff([]string{"Warning ProvisioningFailed"}, c.reasons()); diff != "" {
					c.t.Error(diff)
				}
				if err := c.client.Tracker().Add(immediate("now")); name == "class comes later" {
					c.must(err)
				}
				c.after(time.Minute)
				if n := len(c.volumes()); n != 1 {
					c.t.Errorf("%d volumes, want 1", n)
				}
			}, waiting("a", "now"))
		})
	}
}

func TestRestartProvisionsNothingTwice(t *testing.T) {
	inCluster(t, func(c *cluster) {
		c.run()()
		c.reasons()
		c.run()
		if got := c.reasons(); len(got) != 0 {
			c.t.Errorf("got %v", got)
		}
		if n := len(c.volumes()); n != 1 {
			c.t.Errorf("%d volumes, want 1", n)
		}
	}, waiting("a", "now"), immediate("now"))
}
