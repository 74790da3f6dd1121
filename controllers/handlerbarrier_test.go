package controllers

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// An informer that already runs delivers no events to a controller before it is
// built, and none at all if building fails.
func TestHandlersWaitForConstructor(t *testing.T) {
	for name, refused := range map[string]error{"built": nil, "refused": errors.New("no")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				client := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
				shared := informers.NewSharedInformerFactory(client, 0)
				shared.Core().V1().Pods().Informer()
				shared.StartWithContext(ctx)
				shared.WaitForCacheSyncWithContext(ctx)

				f := &informerView{typed: shared, ctx: ctx, barrier: &handlerBarrier{}}
				events := make(chan bool, 10)
				ready := false
				made, err := f.barrier.wrapConstructor(func(context.Context) (app.Controller, error) {
					pods := f.Core().V1().Pods().Informer()
					for range 2 { // as in a later run
						if err := pods.GetIndexer().AddIndexers(cache.Indexers{"x": cache.MetaNamespaceIndexFunc}); err != nil {
							t.Error(err)
						}
					}
					_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { events <- ready }})
					if err != nil {
						t.Error(err)
					}
					if refused != nil {
						return nil, refused
					}
					ready = true
					return funcController{"c", nil}, nil
				})(ctx)
				if !errors.Is(err, refused) || (made == nil) != (refused != nil) {
					t.Fatal(made, err)
				}
				synctest.Wait()
				close(events)
				got := 0
				for ready := range events {
					if got++; !ready {
						t.Error("the handler ran before the controller was built")
					}
				}
				if want := map[bool]int{true: 1, false: 0}[refused == nil]; got != want {
					t.Errorf("%d events, want %d", got, want)
				}
				if err := f.close(); err != nil {
					t.Error(err)
				}
				cancel()
				shared.Shutdown()
			})
		})
	}
}

// A view of informers that have a barrier has its own instead: two of them would wait for
// each other when a plugin adds an indexer to a store.
func TestBarriersDoNotNest(t *testing.T) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	f := &informerView{typed: factory, ctx: t.Context(), barrier: &handlerBarrier{}}
	view := f.viewFiltered(corev1.SchemeGroupVersion.WithResource("pods"), isUnfinished)
	defer view.Shutdown()
	index := cache.Indexers{"none": func(any) ([]string, error) { return nil, nil }}
	for range 2 {
		if err := view.Core().V1().PersistentVolumes().Informer().GetIndexer().AddIndexers(index); err != nil {
			t.Error(err)
		}
		if err := view.Core().V1().Pods().Informer().AddIndexers(index); err != nil {
			t.Error(err)
		}
	}
}
