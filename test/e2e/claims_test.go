package e2e_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Pod that asks for a device by a template gets a claim that lives with it.
func TestResourceClaim(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	create(t, plane.client.ResourceV1().ResourceClaimTemplates(ns), &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.e2e.example"}}},
		}}},
	})
	p := newPod("web", nil)
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}}
	create(t, pods(ns), p)
	p = await(t, "claim in the pod's status", one(pods(ns), "web"), func(p *corev1.Pod) bool {
		return len(p.Status.ResourceClaimStatuses) == 1 && p.Status.ResourceClaimStatuses[0].ResourceClaimName != nil
	})
	claims := plane.client.ResourceV1().ResourceClaims(ns)
	name := *p.Status.ResourceClaimStatuses[0].ResourceClaimName
	c := get(t, claims, name)
	controlledBy(t, c, "Pod", "web")
	if class := c.Spec.Devices.Requests[0].Exactly.DeviceClassName; class != "gpu.e2e.example" {
		t.Errorf("the claim is for class %s", class)
	}
	remove(t, pods(ns), "web")
	awaitGone(t, "claim of the pod", one(claims, name))
}

// The Pods that use a device go when it is tainted, as those of a node do.
func TestDeviceTaintEviction(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	claims := plane.client.ResourceV1().ResourceClaims(ns)
	driver := unique("driver") + ".e2e.example"
	create(t, claims, &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.e2e.example"}}},
		}},
	})
	p := newPod("user", nil)
	p.Spec.NodeName, p.Spec.TerminationGracePeriodSeconds = startNode(t, nil).name, new(int64(0))
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("gpu")}}
	p = create(t, pods(ns), p)
	modifyStatus(t, claims, "gpu", func(c *resourcev1.ResourceClaim) { // plays the scheduler
		c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
			Results: []resourcev1.DeviceRequestAllocationResult{{Request: "one", Driver: driver, Pool: "pool", Device: "gpu-0"}},
		}}
		c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: p.Name, UID: p.UID}}
	})
	leaving := recordDeletions(t, ns)
	name := unique("rule")
	createShared(t, plane.client.ResourceV1().DeviceTaintRules(), &resourcev1.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{Driver: &driver},
			Taint:          resourcev1.DeviceTaint{Key: "e2e.example/broken", Effect: resourcev1.DeviceTaintEffectNoExecute},
		},
	}, name)
	awaitGone(t, "pod with the tainted device", one(pods(ns), "user"))
	if last := leaving(p.UID); !hasPodCondition(last, corev1.DisruptionTarget, "DeletionByDeviceTaintManager") {
		t.Errorf("conditions of the evicted pod: %s", show(last.Status.Conditions))
	}
}
