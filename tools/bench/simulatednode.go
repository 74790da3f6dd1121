package main

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// newNode returns a node as kwok's documentation has it: whatever plays kubelets for nodes
// with this annotation makes it Ready.
func newNode(i int) *corev1.Node {
	name := fmt.Sprintf("node-%04d", i)
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("32"),
		corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake", corev1.ObjectTTLAnnotationKey: "0"},
			Labels:      map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", "type": "kwok"},
		},
		Status: corev1.NodeStatus{Allocatable: resources, Capacity: resources},
	}
}

// newPlainNode returns a node that says that it is Ready, and that nothing plays a kubelet for.
func newPlainNode(i int) *corev1.Node {
	node := newNode(i)
	node.Annotations = nil
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()}}
	return node
}

func isNodeReady(o runtime.Object) bool {
	node, ok := o.(*corev1.Node)
	return ok && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// isPodReady reports whether a Pod is Running and Ready.
func isPodReady(o runtime.Object) bool {
	pod, ok := o.(*corev1.Pod)
	return ok && pod.Status.Phase == corev1.PodRunning && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
