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

func released(change ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	_, v := bound("a", "1Gi")
	v.Status.Phase = corev1.VolumeReleased
	for _, f := range change {
		f(v)
	}
	return v
}

func TestWhichVolumesAreDeleted(t *testing.T) {
	type volume = corev1.PersistentVolume
	for name, test := range map[string]struct {
		volume *volume
		stays  bool
	}{
		"released":      {released(), false},
		"made by hand":  {released(func(v *volume) { v.Annotations = nil }), false},
		"retained":      {released(func(v *volume) { v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain }), true},
		"bound":         {released(func(v *volume) { v.Status.Phase = corev1.VolumeBound }), true},
		"not yet bound": {released(func(v *volume) { v.Status.Phase = corev1.VolumePending }), true},
		"of another":    {released(func(v *volume) { v.Spec.CSI.Driver = "example.com" }), true},
		"of no driver":  {released(func(v *volume) { v.Spec.CSI = nil }), true},
		"being deleted": {released(func(v *volume) { v.DeletionTimestamp, v.Finalizers = &metav1.Time{Time: time.Now()}, []string{"x/y"} }), true},
	} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(c *cluster) {
				c.run()
				if got := len(c.volumes()) == 1; got != test.stays {
					c.t.Errorf("it is there: %v, want %v", got, test.stays)
				}
			}, test.volume)
		})
	}
}

func TestDeleteOnlyWhatWasSeen(t *testing.T) {
	inCluster(t, func(c *cluster) {
		c.run()
		for _, a := range c.client.Actions() {
			if d, ok := a.(clienttesting.DeleteActionImpl); ok {
				got, want := d.DeleteOptions.Preconditions, &metav1.Preconditions{UID: new(released().UID), ResourceVersion: new("9")}
				if diff := cmp.Diff(want, got); diff != "" {
					c.t.Error(diff)
				}
				return
			}
		}
		c.t.Error("nothing was deleted")
	}, released())
}

func TestDeletionIsTriedAgain(t *testing.T) {
	conflict := apierrors.NewConflict(corev1.Resource("persistentvolumes"), "pvc-a", errors.New("changed"))
	for err, want := range map[error][]string{
		errors.New("no"): {"Warning VolumeFailedDelete"},
		conflict:         nil,
	} {
		inCluster(t, func(c *cluster) {
			c.fail(1, "delete", "persistentvolumes", err)
			c.run()
			if diff := cmp.Diff(want, c.reasons()); diff != "" {
				c.t.Error(diff)
			}
			c.after(time.Second)
			if n := len(c.volumes()); n != 0 {
				c.t.Errorf("%d volumes left", n)
			}
		}, released())
	}
}

func TestPolicyChangesAfterRelease(t *testing.T) {
	inCluster(t, func(c *cluster) {
		c.run()
		c.updateVolume(released())
		if n := len(c.volumes()); n != 0 {
			c.t.Errorf("%d volumes left", n)
		}
	}, released(func(v *corev1.PersistentVolume) {
		v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	}))
}
