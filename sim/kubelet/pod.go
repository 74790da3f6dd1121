package kubelet

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// getPod returns a Pod of the requested node.
func (a *kubeletAPI) getPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	pod, err := a.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	if err != nil || !slices.Contains(nodesFromContext(ctx), pod.Spec.NodeName) {
		return nil, statusError{http.StatusNotFound, fmt.Sprintf("pod %q does not exist", name)}
	}
	return pod, nil
}

// listNodePods returns all Pods of the requested node.
func (a *kubeletAPI) listNodePods(ctx context.Context) ([]corev1.Pod, error) {
	var all []corev1.Pod
	for _, node := range nodesFromContext(ctx) {
		list, err := a.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
		})
		if err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

func containerStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses)
}

func containerStatus(pod *corev1.Pod, name string) (corev1.ContainerStatus, bool) {
	all := containerStatuses(pod)
	i := slices.IndexFunc(all, func(s corev1.ContainerStatus) bool { return s.Name == name })
	if i < 0 {
		return corev1.ContainerStatus{}, false
	}
	return all[i], true
}
