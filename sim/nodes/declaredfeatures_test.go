package nodes

import (
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
	want := []string{"InPlacePodLevelResourcesVerticalScaling", "RestartAllContainersOnContainerExits"}
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
	if got := declaredFeatures(); !slices.Equal(got, want[:1]) {
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
