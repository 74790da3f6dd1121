package metricsapi

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/metrics/pkg/apis/metrics"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// window is over how long usage is said to be measured: the kubelet's.
const window = 15 * time.Second

// source computes usage from what the API server's informers hold.
type source struct {
	pods   corev1listers.PodLister
	nodes  corev1listers.NodeLister
	synced func() bool
	now    func() time.Time
}

// ready says why nothing can be told yet.
func (s *source) ready() error {
	if !s.synced() {
		return apierrors.NewServiceUnavailable("metrics: pods and nodes are still being read: try again in a moment")
	}
	return nil
}

// measured says why a pod has no usage, or else nil.
func (s *source) measured(pod *corev1.Pod) error {
	if pod.Status.Phase != corev1.PodRunning {
		return fmt.Errorf("the pod is %s, not Running", pod.Status.Phase)
	}
	node, err := s.nodes.Get(pod.Spec.NodeName)
	if err != nil {
		return err
	}
	return s.measures(node)
}

// measures says why a node measures no usage, or else nil.
func (s *source) measures(node *corev1.Node) error {
	if !annotations.IsSimulated(node) {
		return fmt.Errorf("node %s is not simulated", node.Name)
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("node %s is not Ready", node.Name)
}

// pod returns the metrics of a pod that is measured.
func (s *source) pod(pod *corev1.Pod) (*metrics.PodMetrics, error) {
	used, err := containers(pod)
	if err != nil {
		return nil, err
	}
	now := metav1.NewTime(s.now())
	return &metrics.PodMetrics{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels, CreationTimestamp: now},
		Timestamp:  now,
		Window:     metav1.Duration{Duration: window},
		Containers: used,
	}, nil
}

// node returns the metrics of a node whose pods use this much.
func (s *source) node(node *corev1.Node, pods corev1.ResourceList) *metrics.NodeMetrics {
	used := nodeItself()
	add(used, pods)
	now := metav1.NewTime(s.now())
	return &metrics.NodeMetrics{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels, CreationTimestamp: now},
		Timestamp:  now,
		Window:     metav1.Duration{Duration: window},
		Usage:      used,
	}
}

// nodeItself is what a node uses without pods.
func nodeItself() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(50, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(256<<20, resource.BinarySI),
	}
}

func add(sum, more corev1.ResourceList) {
	for name, q := range more {
		total := sum[name].DeepCopy()
		total.Add(q)
		sum[name] = total
	}
}
