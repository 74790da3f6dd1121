package metricsapi

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

var testTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// newSource returns a source of the usage of these objects.
func newSource(t *testing.T, objects ...metav1.Object) *usageSource {
	t.Helper()
	pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, o := range objects {
		to := pods
		if _, ok := o.(*corev1.Node); ok {
			to = nodes
		}
		if err := to.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return &usageSource{
		pods:   corev1listers.NewPodLister(pods),
		nodes:  corev1listers.NewNodeLister(nodes),
		synced: func() bool { return true },
		now:    func() time.Time { return testTime },
	}
}

func newNode(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}, Annotations: map[string]string{annotations.KwokNode: annotations.KwokFake}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	for _, c := range change {
		c(n)
	}
	return n
}

// newPod returns a Pod on a node. Its containers "app", which requests 200m and 128Mi,
// and "proxy", which requests nothing, are running.
func newPod(namespace, name, node string, change ...func(*corev1.Pod)) *corev1.Pod {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"name": name}},
		Spec: corev1.PodSpec{
			NodeName:       node,
			InitContainers: []corev1.Container{{Name: "init"}},
			Containers: []corev1.Container{
				{Name: "app", Resources: corev1.ResourceRequirements{Requests: quantities("200m", "128Mi")}},
				{Name: "proxy"},
			},
		},
		Status: corev1.PodStatus{
			Phase:                 corev1.PodRunning,
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "init", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}},
			ContainerStatuses:     []corev1.ContainerStatus{{Name: "app", State: running}, {Name: "proxy", State: running}},
		},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func withAnnotation(annotation, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, annotation, value) }
}

func quantities(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

// formatUsage formats CPU and memory.
func formatUsage(used corev1.ResourceList) string {
	return used.Cpu().String() + " " + used.Memory().String()
}

// warnings collects the warnings of a response.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

// newRequestContext returns the context of a request in a namespace, and the warnings
// of its response.
func newRequestContext(t *testing.T, namespace string) (context.Context, *warnings) {
	var w warnings
	return warning.WithWarningRecorder(genericapirequest.WithNamespace(t.Context(), namespace), &w), &w
}
