package e2e_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Pod with a resource claim template gets a claim that is deleted with the Pod.
func TestResourceClaim(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	createObject(t, controlPlane.client.ResourceV1().ResourceClaimTemplates(ns), &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.e2e.example"}}},
		}}},
	})
	p := newPod("web", nil)
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}}
	createObject(t, pods(ns), p)
	p = await(t, "claim in the pod's status", getByName(pods(ns), "web"), func(p *corev1.Pod) bool {
		return len(p.Status.ResourceClaimStatuses) == 1 && p.Status.ResourceClaimStatuses[0].ResourceClaimName != nil
	})
	claims := controlPlane.client.ResourceV1().ResourceClaims(ns)
	name := *p.Status.ResourceClaimStatuses[0].ResourceClaimName
	c := getObject(t, claims, name)
	requireController(t, c, "Pod", "web")
	if class := c.Spec.Devices.Requests[0].Exactly.DeviceClassName; class != "gpu.e2e.example" {
		t.Errorf("the claim is for class %s", class)
	}
	deleteObject(t, pods(ns), "web")
	awaitGone(t, "claim of the pod", getByName(claims, name))
}

// The Pods that use a tainted device are evicted.
func TestDeviceTaintEviction(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	claims := controlPlane.client.ResourceV1().ResourceClaims(ns)
	driver := uniqueName("driver") + ".e2e.example"
	createObject(t, claims, &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.e2e.example"}}},
		}},
	})
	p := newPod("user", nil)
	p.Spec.NodeName, p.Spec.TerminationGracePeriodSeconds = startFakeNode(t, nil).name, new(int64(0))
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("gpu")}}
	p = createObject(t, pods(ns), p)
	updateObjectStatus(t, claims, "gpu", func(c *resourcev1.ResourceClaim) { // acts as the scheduler
		c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
			Results: []resourcev1.DeviceRequestAllocationResult{{Request: "one", Driver: driver, Pool: "pool", Device: "gpu-0"}},
		}}
		c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: p.Name, UID: p.UID}}
	})
	leaving := recordDeletions(t, ns)
	name := uniqueName("rule")
	createShared(t, controlPlane.client.ResourceV1().DeviceTaintRules(), &resourcev1.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{Driver: &driver},
			Taint:          resourcev1.DeviceTaint{Key: "e2e.example/broken", Effect: resourcev1.DeviceTaintEffectNoExecute},
		},
	}, name)
	awaitGone(t, "pod with the tainted device", getByName(pods(ns), "user"))
	if last := leaving(p.UID); !hasPodCondition(last, corev1.DisruptionTarget, "DeletionByDeviceTaintManager") {
		t.Errorf("conditions of the evicted pod: %s", toYAML(last.Status.Conditions))
	}
}
