package nodes

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
)

// TestDeclaredFeatures compares what nodes declare with what is simulated and enabled.
func TestDeclaredFeatures(t *testing.T) {
	want := []string{"InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers", "RestartAllContainersOnContainerExits"}
	if got := declaredFeatures(); !slices.Equal(got, want) {
		t.Errorf("declared: %q, want %q", got, want)
	}
	shape, err := Config{}.nodeShape()
	if err != nil {
		t.Fatal(err)
	}
	if st, _ := shape.nodeStatus(testNode(nil), netip.Addr{}, epoch); !slices.Equal(st.DeclaredFeatures, want) {
		t.Errorf("the status of a node: %q", st.DeclaredFeatures)
	}
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.RestartAllContainersOnContainerExits, false)
	if got := declaredFeatures(); !slices.Equal(got, want[:2]) {
		t.Errorf("declared with a gate off: %q", got)
	}
}

// TestResourcesOfThePod resizes what a Pod has as a whole.
func TestResourcesOfThePod(t *testing.T) {
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.Resources = &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
		}
	})
	pod.Status, _ = podStatus(pod, testPlacement, epoch)
	pod.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	deferred := testPlacement
	deferred.resizeRejected = &rejection{"OutOfcpu", "full"}
	pod.Status, _ = podStatus(pod, deferred, epoch)
	if got := pod.Status.AllocatedResources.Cpu().String(); got != "1" {
		t.Errorf("with a deferred resize %s are allocated", got)
	}
	st, _ := podStatus(pod, testPlacement, epoch)
	if st.AllocatedResources.Cpu().String() != "2" || st.Resources.Requests.Cpu().String() != "2" || st.Resources.Limits.Cpu().String() != "2" {
		t.Errorf("after the resize: %v, %+v", st.AllocatedResources, st.Resources)
	}
}

// TestResizeOfInitContainers resizes an init container while it runs, and when it has completed.
func TestResizeOfInitContainers(t *testing.T) {
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "i"}}
	})
	for i, want := range []string{"Pending, i: runs, a: PodInitializing", "Running, ready, i: exit 0, a: runs", "Running, ready, i: exit 0, a: runs"} {
		amount := resource.MustParse(fmt.Sprint(i + 1))
		pod.Spec.InitContainers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: amount}
		pod.Generation++
		pod.Status, _ = podStatus(pod, testPlacement, epoch)
		s := pod.Status.InitContainerStatuses[0]
		if describePod(pod) != want || s.Resources == nil || !s.Resources.Requests.Cpu().Equal(amount) || !s.AllocatedResources.Cpu().Equal(amount) {
			t.Errorf("step %d: %s, %+v", i, describePod(pod), s)
		}
	}
}
