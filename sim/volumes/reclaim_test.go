package volumes

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"
)

func newReleasedVolume(change ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	_, v := newBoundClaim("a", "1Gi")
	v.Status.Phase = corev1.VolumeReleased
	for _, f := range change {
		f(v)
	}
	return v
}

func TestReleasedVolumesAreDeleted(t *testing.T) {
	type volume = corev1.PersistentVolume
	for name, test := range map[string]struct {
		volume *volume
		stays  bool
	}{
		"released":         {newReleasedVolume(), false},
		"created manually": {newReleasedVolume(func(v *volume) { v.Annotations = nil }), false},
		"retained":         {newReleasedVolume(func(v *volume) { v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain }), true},
		"bound":            {newReleasedVolume(func(v *volume) { v.Status.Phase = corev1.VolumeBound }), true},
		"not yet bound":    {newReleasedVolume(func(v *volume) { v.Status.Phase = corev1.VolumePending }), true},
		"of another":       {newReleasedVolume(func(v *volume) { v.Spec.CSI.Driver = "example.com" }), true},
		"of no driver":     {newReleasedVolume(func(v *volume) { v.Spec.CSI = nil }), true},
		"being deleted":    {newReleasedVolume(func(v *volume) { v.DeletionTimestamp, v.Finalizers = &metav1.Time{Time: time.Now()}, []string{"x/y"} }), true},
	} {
		t.Run(name, func(t *testing.T) {
			runInCluster(t, func(c *testCluster) {
				c.runProvisioner()
				if got := len(c.listVolumes()) == 1; got != test.stays {
					c.t.Errorf("the volume exists: %v, want %v", got, test.stays)
				}
			}, test.volume)
		})
	}
}

func TestDeleteHasPreconditions(t *testing.T) {
	runInCluster(t, func(c *testCluster) {
		c.runProvisioner()
		for _, a := range c.client.Actions() {
			if d, ok := a.(clienttesting.DeleteActionImpl); ok {
				got, want := d.DeleteOptions.Preconditions, &metav1.Preconditions{UID: new(newReleasedVolume().UID), ResourceVersion: new("9")}
				if diff := cmp.Diff(want, got); diff != "" {
					c.t.Error(diff)
				}
				return
			}
		}
		c.t.Error("nothing was deleted")
	}, newReleasedVolume())
}

func TestDeletionIsRetried(t *testing.T) {
	conflict := apierrors.NewConflict(corev1.Resource("persistentvolumes"), "pvc-a", errors.New("changed"))
	for err, want := range map[error][]string{
		errors.New("no"): {"Warning VolumeFailedDelete"},
		conflict:         nil,
	} {
		runInCluster(t, func(c *testCluster) {
			c.failCalls(1, "delete", "persistentvolumes", err)
			c.runProvisioner()
			if diff := cmp.Diff(want, c.takeEventReasons()); diff != "" {
				c.t.Error(diff)
			}
			c.advance(time.Second)
			if n := len(c.listVolumes()); n != 0 {
				c.t.Errorf("%d volumes left", n)
			}
		}, newReleasedVolume())
	}
}

func TestReclaimPolicyChangesAfterRelease(t *testing.T) {
	runInCluster(t, func(c *testCluster) {
		c.runProvisioner()
		c.updateVolume(newReleasedVolume())
		if n := len(c.listVolumes()); n != 0 {
			c.t.Errorf("%d volumes left", n)
		}
	}, newReleasedVolume(func(v *corev1.PersistentVolume) {
		v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	}))
}
