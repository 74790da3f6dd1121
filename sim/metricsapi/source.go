package metricsapi

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	nodeutil "k8s.io/kubernetes/pkg/util/node"
	"k8s.io/metrics/pkg/apis/metrics"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// window is the reported period of measurement. Until a Pod has been ready for that long, a HorizontalPodAutoscaler does not use
// its CPU usage: that of a real container must be measured first, this one is known at once.
const window = time.Second

// usageSource computes usage from the informers of the API server.
type usageSource struct {
	pods   corev1listers.PodLister
	nodes  corev1listers.NodeLister
	synced func() bool
	now    func() time.Time
}

// checkSynced returns an error until the informers have synced.
func (s *usageSource) checkSynced() error {
	if !s.synced() {
		return apierrors.NewServiceUnavailable("metrics: pods and nodes have not been read yet: try again in a moment")
	}
	return nil
}

// checkPod returns why a Pod has no metrics, or nil.
func (s *usageSource) checkPod(pod *corev1.Pod) error {
	if pod.Status.Phase != corev1.PodRunning {
		return fmt.Errorf("the pod is %s, not Running", pod.Status.Phase)
	}
	node, err := s.nodes.Get(pod.Spec.NodeName)
	if err != nil {
		return err
	}
	return s.checkNode(node)
}

// checkNode returns why a node has no metrics, or nil.
func (s *usageSource) checkNode(node *corev1.Node) error {
	if !annotations.IsSimulated(node) {
		return fmt.Errorf("node %s is not simulated", node.Name)
	}
	if !nodeutil.IsNodeReady(node) {
		return fmt.Errorf("node %s is not Ready", node.Name)
	}
	return nil
}

// podMetrics returns the metrics of a Pod that passes checkPod.
func (s *usageSource) podMetrics(pod *corev1.Pod) (*metrics.PodMetrics, error) {
	used, err := containerMetrics(pod)
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

// nodeMetrics returns the metrics of a node with the total usage of its Pods.
func (s *usageSource) nodeMetrics(node *corev1.Node, pods corev1.ResourceList) *metrics.NodeMetrics {
	used := nodeBaseUsage()
	addResources(used, pods)
	now := metav1.NewTime(s.now())
	return &metrics.NodeMetrics{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels, CreationTimestamp: now},
		Timestamp:  now,
		Window:     metav1.Duration{Duration: window},
		Usage:      used,
	}
}

// nodeBaseUsage is the usage of a node without Pods.
func nodeBaseUsage() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(50, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(256<<20, resource.BinarySI),
	}
}

func addResources(sum, more corev1.ResourceList) {
	for name, q := range more {
		total := sum[name].DeepCopy()
		total.Add(q)
		sum[name] = total
	}
}
