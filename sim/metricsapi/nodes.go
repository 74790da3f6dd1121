package metricsapi

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/metrics/pkg/apis/metrics"
)

// nodeStorage serves NodeMetrics.
type nodeStorage struct{ source *usageSource }

var (
	_ rest.Getter               = nodeStorage{}
	_ rest.Lister               = nodeStorage{}
	_ rest.Scoper               = nodeStorage{}
	_ rest.SingularNameProvider = nodeStorage{}
)

func (nodeStorage) New() runtime.Object     { return &metrics.NodeMetrics{} }
func (nodeStorage) NewList() runtime.Object { return &metrics.NodeMetricsList{} }
func (nodeStorage) Destroy()                {}
func (nodeStorage) NamespaceScoped() bool   { return false }

// GetSingularName is empty: "node" belongs to the nodes of the core group.
func (nodeStorage) GetSingularName() string { return "" }

func (n nodeStorage) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if err := n.source.checkSynced(); err != nil {
		return nil, err
	}
	node, err := n.source.nodes.Get(name)
	if err != nil {
		return nil, err
	}
	if err := n.source.checkNode(node); err != nil {
		return nil, newNotFound("nodemetrics", name, err)
	}
	pods, err := n.podUsageByNode(ctx, func(at string) bool { return at == name })
	if err != nil {
		return nil, err
	}
	return n.source.nodeMetrics(node, pods[name]), nil
}

func (n nodeStorage) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	if err := n.source.checkSynced(); err != nil {
		return nil, err
	}
	want := newSelector(options)
	nodes, err := n.source.nodes.List(want.labels)
	if err != nil {
		return nil, err
	}
	nodes = slices.DeleteFunc(nodes, func(node *corev1.Node) bool {
		return !want.matches(node) || n.source.checkNode(node) != nil
	})
	asked := map[string]bool{}
	for _, node := range nodes {
		asked[node.Name] = true
	}
	pods, err := n.podUsageByNode(ctx, func(at string) bool { return asked[at] })
	if err != nil {
		return nil, err
	}
	list := &metrics.NodeMetricsList{Items: []metrics.NodeMetrics{}}
	for _, node := range nodes {
		list.Items = append(list.Items, *n.source.nodeMetrics(node, pods[node.Name]))
	}
	slices.SortFunc(list.Items, func(a, b metrics.NodeMetrics) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// podUsageByNode returns the total usage of the Pods of each node.
func (n nodeStorage) podUsageByNode(ctx context.Context, asked func(node string) bool) (map[string]corev1.ResourceList, error) {
	pods, err := n.source.pods.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	sums := map[string]corev1.ResourceList{}
	for _, pod := range pods {
		at := pod.Spec.NodeName
		if !asked(at) || n.source.checkPod(pod) != nil {
			continue
		}
		used, err := containerMetrics(pod)
		if err != nil {
			warnOmitted(ctx, pod, err)
			continue
		}
		if sums[at] == nil {
			sums[at] = corev1.ResourceList{}
		}
		for _, c := range used {
			addResources(sums[at], c.Usage)
		}
	}
	return sums, nil
}

func (nodeStorage) ConvertToTable(_ context.Context, obj, _ runtime.Object) (*metav1.Table, error) {
	return tableOf(obj)
}
