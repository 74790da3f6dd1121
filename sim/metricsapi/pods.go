package metricsapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/metrics/pkg/apis/metrics"
)

// podStorage serves PodMetrics.
type podStorage struct{ source *usageSource }

var (
	_ rest.Getter               = podStorage{}
	_ rest.Lister               = podStorage{}
	_ rest.Scoper               = podStorage{}
	_ rest.SingularNameProvider = podStorage{}
)

func (podStorage) New() runtime.Object     { return &metrics.PodMetrics{} }
func (podStorage) NewList() runtime.Object { return &metrics.PodMetricsList{} }
func (podStorage) Destroy()                {}
func (podStorage) NamespaceScoped() bool   { return true }

// GetSingularName is empty: "pod" belongs to the Pods of the core group.
func (podStorage) GetSingularName() string { return "" }

func (p podStorage) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if err := p.source.checkSynced(); err != nil {
		return nil, err
	}
	pod, err := p.source.pods.Pods(genericapirequest.NamespaceValue(ctx)).Get(name)
	if err != nil {
		return nil, err
	}
	err = p.source.checkPod(pod)
	if err == nil {
		var m *metrics.PodMetrics
		if m, err = p.source.podMetrics(pod); err == nil {
			return m, nil
		}
	}
	return nil, newNotFound("podmetrics", pod.Namespace+"/"+pod.Name, err)
}

func (p podStorage) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	if err := p.source.checkSynced(); err != nil {
		return nil, err
	}
	want := newSelector(options)
	pods, err := p.source.pods.Pods(genericapirequest.NamespaceValue(ctx)).List(want.labels)
	if err != nil {
		return nil, err
	}
	list := &metrics.PodMetricsList{Items: []metrics.PodMetrics{}}
	for _, pod := range pods {
		if !want.matches(pod) || p.source.checkPod(pod) != nil {
			continue
		}
		m, err := p.source.podMetrics(pod)
		if err != nil {
			warnOmitted(ctx, pod, err)
			continue
		}
		list.Items = append(list.Items, *m)
	}
	slices.SortFunc(list.Items, func(a, b metrics.PodMetrics) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

// warnOmitted adds a warning to the response; kubectl prints it.
func warnOmitted(ctx context.Context, pod *corev1.Pod, why error) {
	warning.AddWarning(ctx, "", fmt.Sprintf("pod %s/%s has no metrics: %v", pod.Namespace, pod.Name, why))
}

func (podStorage) ConvertToTable(_ context.Context, obj, _ runtime.Object) (*metav1.Table, error) {
	return tableOf(obj)
}
