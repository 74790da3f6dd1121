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
