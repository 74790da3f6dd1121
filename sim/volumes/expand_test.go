package volumes

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

func TestExpand(t *testing.T) {
	claim, v := bound("a", "1Gi")
	claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: "Unused", Status: corev1.ConditionTrue}}
	inCluster(t, func(c *cluster) {
		var seen []corev1.PersistentVolumeClaimStatus
		c.client.PrependReactor("patch", "persistentvolumes", func(clienttesting.Action) (bool, runtime.Object, error) {
			now, err := c.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), "default", "a")
			if err == nil {
				seen = append(seen, now.(*corev1.PersistentVolumeClaim).Status)
			}
			return false, nil, err
		})
		c.run()
		if got := append(c.calls("persistentvolumeclaims"), c.calls("persistentvolumes")...); len(got) != 0 {
			c.t.Fatalf("nothing was asked for, got %v", got)
		}
		claim.Spec.Resources.Requests = storage("5Gi")
		c.update(claim)

		during := claim.Status.DeepCopy()
		during.AllocatedResources = storage("5Gi")
		during.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{
			corev1.ResourceStorage: corev1.PersistentVolumeClaimControllerResizeInProgress}
		during.Conditions = append(during.Conditions, corev1.PersistentVolumeClaimCondition{
			Type: corev1.PersistentVolumeClaimResizing, Status: corev1.ConditionTrue})
		for i := range seen {
			seen[i].Conditions[1].LastTransitionTime.Reset()
		}
		if diff := cmp.Diff([]corev1.PersistentVolumeClaimStatus{*during}, seen); diff != "" {
			c.t.Error("while it grows:", diff)
		}
		after := claim.Status.DeepCopy()
		after.AllocatedResources, after.Capacity = storage("5Gi"), storage("5Gi")
		if diff := cmp.Diff(*after, c.claim("a").Status); diff != "" {
			c.t.Error("when it has grown:", diff)
		}
		if diff := cmp.Diff(storage("5Gi"), c.volumes()[0].Spec.Capacity); diff != "" {
			c.t.Error(diff)
		}
		if diff := cmp.Diff([]string{"Normal Resizing", "Normal VolumeResizeSuccessful"}, c.reasons()); diff != "" {
			c.t.Error(diff)
		}
	}, claim, v)
}

func TestExpandIsTriedAgain(t *testing.T) {
	for name, fail := range map[string]func(*cluster){
		"claim":  func(c *cluster) { c.fail(1, "patch", "persistentvolumeclaims", errors.New("no")) },
		"volume": func(c *cluster) { c.fail(1, "patch", "persistentvolumes", errors.New("no")) },
		"read":   func(c *cluster) { c.fail(1, "get", "persistentvolumeclaims", errors.New("no")) },
	} {
		t.Run(name, func(t *testing.T) {
			claim, v := bound("a", "1Gi")
			claim.Spec.Resources.Requests = storage("2Gi")
			inCluster(t, func(c *cluster) {
				fail(c)
				c.run()
				c.after(time.Second)
				status := c.claim("a").Status
				if diff := cmp.Diff(storage("2Gi"), status.Capacity); diff != "" || len(status.Conditions) != 0 {
					c.t.Error(diff, status.Conditions)
				}
				if diff := cmp.Diff(storage("2Gi"), c.volumes()[0].Spec.Capacity); diff != "" {
					c.t.Error(diff)
				}
			}, claim, v)
		})
	}
}

// A claim may ask for less again after its volume has grown.
func TestExpandNeverShrinks(t *testing.T) {
	claim, v := bound("a", "1Gi")
	claim.Spec.Resources.Requests = storage("2Gi")
	v.Spec.Capacity = storage("3Gi")
	inCluster(t, func(c *cluster) {
		c.run()
		if diff := cmp.Diff([]corev1.ResourceList{storage("3Gi"), storage("3Gi")},
			[]corev1.ResourceList{c.volumes()[0].Spec.Capacity, c.claim("a").Status.Capacity}); diff != "" {
			c.t.Error(diff)
		}
	}, claim, v)
}

func TestExpandLeavesOthersAlone(t *testing.T) {
	for name, change := range map[string]func(*corev1.PersistentVolumeClaim, *corev1.PersistentVolume){
		"of another driver": func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Spec.CSI.Driver = "example.com" },
		"of another claim":  func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Spec.ClaimRef.UID = "b" },
		"of no claim":       func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil },
		"not bound yet": func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) {
			c.Status.Phase = corev1.ClaimPending
		},
		"of no known size":   func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) { c.Status.Capacity = nil },
		"smaller than it is": func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) { c.Status.Capacity = storage("9Gi") },
	} {
		t.Run(name, func(t *testing.T) {
			claim, v := bound("a", "1Gi")
			claim.Spec.Resources.Requests = storage("2Gi")
			change(claim, v)
			inCluster(t, func(c *cluster) {
				c.run()
				if got := append(c.calls("persistentvolumeclaims"), c.calls("persistentvolumes")...); len(got) != 0 {
					c.t.Errorf("got %v", got)
				}
			}, claim, v)
		})
	}
}
