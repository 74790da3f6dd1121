package metricsapi

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/metrics/pkg/apis/metrics"

	"github.com/ctrlplane/ctrlplane/internal/oneline"
	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// requestDivisor is the ratio of the requests of a container to its default usage.
const requestDivisor = 10

// measuredResource is CPU or memory.
type measuredResource struct {
	resource     corev1.ResourceName
	annotation   string
	example      string
	defaultUsage *resource.Quantity // of a container that requests none
	maxUsage     *resource.Quantity // more is an error of the user, and sums could overflow
	fromRequest  func(request resource.Quantity) *resource.Quantity
}

func measuredResources() [2]measuredResource {
	return [2]measuredResource{{
		corev1.ResourceCPU, annotations.UsageCPU, "250m",
		resource.NewMilliQuantity(5, resource.DecimalSI),
		resource.NewQuantity(100_000, resource.DecimalSI),
		func(r resource.Quantity) *resource.Quantity {
			return resource.NewMilliQuantity(max(1, r.MilliValue()/requestDivisor), resource.DecimalSI)
		},
	}, {
		corev1.ResourceMemory, annotations.UsageMemory, "64Mi",
		resource.NewQuantity(32<<20, resource.BinarySI),
		resource.NewQuantity(1<<50, resource.BinarySI),
		func(r resource.Quantity) *resource.Quantity {
			const ki = 1 << 10 // whole Ki, as a kubelet reports pages
			return resource.NewQuantity(max(1, r.Value()/requestDivisor/ki)*ki, resource.BinarySI)
		},
	}}
}

// CheckAnnotations returns what is wrong with the usage annotations of a Pod.
func CheckAnnotations(pod *corev1.Pod) error {
	_, cpu := pod.Annotations[annotations.UsageCPU]
	if _, memory := pod.Annotations[annotations.UsageMemory]; !cpu && !memory {
		return nil
	}
	_, err := readUsage(pod)
	return err
}

// containerUsage returns the usage of a container with this name and these requests.
type containerUsage func(name string, requests corev1.ResourceList) corev1.ResourceList

// readUsage reads the usage annotations of a Pod.
func readUsage(pod *corev1.Pod) (containerUsage, error) {
	measures := measuredResources()
	var said [len(measures)]map[string]resource.Quantity
	var wrong []error
	for i, m := range measures {
		value, ok := pod.Annotations[m.annotation]
		if !ok {
			continue
		}
		var err error
		if said[i], err = m.parse(pod, value); err != nil {
			wrong = append(wrong, fmt.Errorf("annotation %s: %w", m.annotation, err))
		}
	}
	if err := oneline.Join(wrong...); err != nil {
		return nil, err
	}
	return func(name string, requests corev1.ResourceList) corev1.ResourceList {
		used := corev1.ResourceList{}
		for i, m := range measures {
			used[m.resource] = m.usageOf(said[i], name, requests)
		}
		return used
	}, nil
}

// everyContainer is the key of a value for all containers: none has an empty name.
const everyContainer = ""

func (m measuredResource) parse(pod *corev1.Pod, value string) (map[string]resource.Quantity, error) {
	said := map[string]resource.Quantity{}
	if !strings.Contains(value, "=") {
		q, err := m.parseQuantity(value)
		said[everyContainer] = q
		return said, err
	}
	for item := range strings.SplitSeq(value, ",") {
		name, number, _ := strings.Cut(strings.TrimSpace(item), "=")
		if kubecontainer.GetContainerSpec(pod, name) == nil {
			return nil, fmt.Errorf("the pod has no container %q", name)
		}
		if _, twice := said[name]; twice {
			return nil, fmt.Errorf("container %q is listed twice", name)
		}
		q, err := m.parseQuantity(number)
		if err != nil {
			return nil, err
		}
		said[name] = q
	}
	return said, nil
}

func (m measuredResource) parseQuantity(value string) (resource.Quantity, error) {
	q, err := resource.ParseQuantity(value)
	switch {
	case err != nil:
		return q, fmt.Errorf("%q is not a quantity: write it like %s, or CONTAINER=%s,…", value, m.example, m.example)
	case q.Sign() < 0:
		return q, fmt.Errorf("%q is negative", value)
	case q.Cmp(*m.maxUsage) > 0:
		return q, fmt.Errorf("%q is too large: at most %s", value, m.maxUsage.String())
	}
	return q, nil
}

func (m measuredResource) usageOf(said map[string]resource.Quantity, name string, requests corev1.ResourceList) resource.Quantity {
	if q, ok := said[name]; ok {
		return q
	}
	if q, ok := said[everyContainer]; ok {
		return q
	}
	if request, ok := requests[m.resource]; ok && request.Sign() > 0 {
		return *m.fromRequest(request)
	}
	return *m.defaultUsage
}

// containerMetrics returns the usage of each running container of a Pod.
func containerMetrics(pod *corev1.Pod) ([]metrics.ContainerMetrics, error) {
	usage, err := readUsage(pod)
	if err != nil {
		return nil, err
	}
	var used []metrics.ContainerMetrics
	for _, list := range [][]corev1.ContainerStatus{
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses,
	} {
		for _, c := range list {
			if c.State.Running != nil {
				used = append(used, metrics.ContainerMetrics{Name: c.Name, Usage: usage(c.Name, requestsOf(pod, c.Name))})
			}
		}
	}
	return used, nil
}

// requestsOf returns the requests of a container of a Pod; none if only the status has it.
func requestsOf(pod *corev1.Pod, name string) corev1.ResourceList {
	if c := kubecontainer.GetContainerSpec(pod, name); c != nil {
		return c.Resources.Requests
	}
	return nil
}
