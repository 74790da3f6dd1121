package e2e_test

import (
	"encoding/json"
	"net/http"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The metrics API returns the usage in the Pods' annotations.
func TestWorkloadMetrics(t *testing.T) {
	ns := beginWorkload(t)
	p := newPod("busy", nil)
	p.Annotations = map[string]string{"kwok.x-k8s.io/usage-cpu": "150m"}
	createObject(t, pods(ns), p)
	await(t, "running pod", getByName(pods(ns), "busy"), func(p *corev1.Pod) bool { return isRunning(*p) })
	type usage struct{ Usage map[string]string }
	read := func(path string, into any) {
		// The metrics server learns of a Pod later than the test.
		metrics := getPath(controlPlane.config, "/apis/metrics.k8s.io/v1beta1/"+path)
		a := await(t, "metrics", metrics, func(a httpResponse) bool { return a.Code == http.StatusOK })
		if err := json.Unmarshal([]byte(a.Body), into); err != nil {
			t.Errorf("%s: %v: %s", path, err, a.Body)
		}
	}
	var pod struct{ Containers []usage }
	if read("namespaces/"+ns+"/pods/busy", &pod); len(pod.Containers) != 1 || pod.Containers[0].Usage["cpu"] != "150m" {
		t.Errorf("of the pod: %+v", pod)
	}
	var nodes struct{ Items []usage }
	if read("nodes", &nodes); len(nodes.Items) < 3 || nodes.Items[0].Usage["memory"] == "" {
		t.Errorf("of the nodes: %+v", nodes)
	}
}

func TestWorkloadAutoscaling(t *testing.T) {
	ns := beginWorkload(t)
	d := newDeployment("registry.invalid/app:1")
	d.Spec.Replicas = new(int32(1))
	d.Spec.Template.Spec.Containers[0].Resources = cpuRequests("100m")
	d.Spec.Template.Annotations = map[string]string{"kwok.x-k8s.io/usage-cpu": "150m"}
	createObject(t, deployments(ns), d)
	createObject(t, controlPlane.client.AutoscalingV2().HorizontalPodAutoscalers(ns), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MaxReplicas:    3,
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
				ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(0))},
			},
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(50))},
			}}},
		},
	})
	for _, p := range awaitRunning(t, ns, "app=web", 3) {
		idle := []byte(`{"metadata":{"annotations":{"kwok.x-k8s.io/usage-cpu":"5m"}}}`)
		_, err := pods(ns).Patch(t.Context(), p.Name, types.MergePatchType, idle, metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) { // the autoscaler may have deleted it
			t.Fatal(err)
		}
	}
	awaitRunning(t, ns, "app=web", 1)
}
