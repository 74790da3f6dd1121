package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// useLent makes the factory provide informers that another part of the process has lent.
func (s *sharedInformers) useLent(lent func() (pods, nodes cache.SharedIndexInformer)) {
	if lent == nil {
		return
	}
	pods, nodes := lent()
	for _, l := range []struct {
		object   runtime.Object
		informer cache.SharedIndexInformer
	}{{&corev1.Pod{}, pods}, {&corev1.Node{}, nodes}} {
		if l.informer == nil {
			continue
		}
		s.typed.InformerFor(l.object, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			return lentInformer{l.informer, resync}
		})
	}
}

// lentInformer is an informer that its owner configures and runs. Event handlers get
// resyncs as often as those of the controllers' own informers.
type lentInformer struct {
	cache.SharedIndexInformer
	resync time.Duration
}

func (lentInformer) Run(<-chan struct{}) {}

func (lentInformer) RunWithContext(context.Context) {}

func (lentInformer) SetTransform(cache.TransformFunc) error { return nil }

func (i lentInformer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithResyncPeriod(h, i.resync)
}

func (i lentInformer) AddEventHandlerWithOptions(h cache.ResourceEventHandler, o cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	if o.ResyncPeriod == nil {
		o.ResyncPeriod = &i.resync
	}
	return i.SharedIndexInformer.AddEventHandlerWithOptions(h, o)
}
