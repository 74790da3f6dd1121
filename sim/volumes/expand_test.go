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
	claim, v := newBoundClaim("a", "1Gi")
	claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: "Unused", Status: corev1.ConditionTrue}}
	runInCluster(t, func(c *testCluster) {
		var seen []corev1.PersistentVolumeClaimStatus
		c.client.PrependReactor("patch", "persistentvolumes", func(clienttesting.Action) (bool, runtime.Object, error) {
			now, err := c.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), "default", "a")
			if err == nil {
				seen = append(seen, now.(*corev1.PersistentVolumeClaim).Status)
			}
			return false, nil, err
		})
		c.runProvisioner()
		if got := append(c.writesTo("persistentvolumeclaims"), c.writesTo("persistentvolumes")...); len(got) != 0 {
			c.t.Fatalf("writes without a request: %v", got)
		}
		claim.Spec.Resources.Requests = storageList("5Gi")
		c.updateClaim(claim)

		during := claim.Status.DeepCopy()
		during.AllocatedResources = storageList("5Gi")
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
		after.AllocatedResources, after.Capacity = storageList("5Gi"), storageList("5Gi")
		if diff := cmp.Diff(*after, c.getClaim("a").Status); diff != "" {
			c.t.Error("when it has grown:", diff)
		}
		if diff := cmp.Diff(storageList("5Gi"), c.listVolumes()[0].Spec.Capacity); diff != "" {
			c.t.Error(diff)
		}
		if diff := cmp.Diff([]string{"Normal Resizing", "Normal VolumeResizeSuccessful"}, c.takeEventReasons()); diff != "" {
			c.t.Error(diff)
		}
	}, claim, v)
}

func TestExpandIsRetried(t *testing.T) {
	for name, fail := range map[string]func(*testCluster){
		"claim":  func(c *testCluster) { c.failCalls(1, "patch", "persistentvolumeclaims", errors.New("no")) },
		"volume": func(c *testCluster) { c.failCalls(1, "patch", "persistentvolumes", errors.New("no")) },
		"read":   func(c *testCluster) { c.failCalls(1, "get", "persistentvolumeclaims", errors.New("no")) },
	} {
		t.Run(name, func(t *testing.T) {
			claim, v := newBoundClaim("a", "1Gi")
			claim.Spec.Resources.Requests = storageList("2Gi")
			runInCluster(t, func(c *testCluster) {
				fail(c)
				c.runProvisioner()
				c.advance(time.Second)
				status := c.getClaim("a").Status
				if diff := cmp.Diff(storageList("2Gi"), status.Capacity); diff != "" || len(status.Conditions) != 0 {
					c.t.Error(diff, status.Conditions)
				}
				if diff := cmp.Diff(storageList("2Gi"), c.listVolumes()[0].Spec.Capacity); diff != "" {
					c.t.Error(diff)
				}
			}, claim, v)
		})
	}
}

// A claim may request less again after its volume was expanded.
func TestExpandNeverShrinks(t *testing.T) {
	claim, v := newBoundClaim("a", "1Gi")
	claim.Spec.Resources.Requests = storageList("2Gi")
	v.Spec.Capacity = storageList("3Gi")
	runInCluster(t, func(c *testCluster) {
		c.runProvisioner()
		if diff := cmp.Diff([]corev1.ResourceList{storageList("3Gi"), storageList("3Gi")},
			[]corev1.ResourceList{c.listVolumes()[0].Spec.Capacity, c.getClaim("a").Status.Capacity}); diff != "" {
			c.t.Error(diff)
		}
	}, claim, v)
}

func TestExpandSkipsOtherVolumes(t *testing.T) {
	for name, change := range map[string]func(*corev1.PersistentVolumeClaim, *corev1.PersistentVolume){
		"of another driver": func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Spec.CSI.Driver = "example.com" },
		"of another claim":  func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Spec.ClaimRef.UID = "b" },
		"of no claim":       func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil },
		"not bound yet": func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) {
			c.Status.Phase = corev1.ClaimPending
		},
		"of no known size": func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) { c.Status.Capacity = nil },
		"smaller than it is": func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) {
			c.Status.Capacity = storageList("9Gi")
		},
	} {
		t.Run(name, func(t *testing.T) {
			claim, v := newBoundClaim("a", "1Gi")
			claim.Spec.Resources.Requests = storageList("2Gi")
			change(claim, v)
			runInCluster(t, func(c *testCluster) {
				c.runProvisioner()
				if got := append(c.writesTo("persistentvolumeclaims"), c.writesTo("persistentvolumes")...); len(got) != 0 {
					c.t.Errorf("got %v", got)
				}
			}, claim, v)
		})
	}
}
