package controllers

import (
	"context"
	"runtime"
	"testing"
	"time"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

// A handler of Nodes may wait for the end of a restore, which recreates the informers.
func TestNodeHandlerDoesNotDelayClose(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lender := informers.NewSharedInformerFactory(fake.NewClientset(&corev1.Node{}), 0)
	pods, nodes := lender.Core().V1().Pods().Informer(), lender.Core().V1().Nodes().Informer()
	lender.Start(ctx.Done())
	own, stop := context.WithCancel(ctx)
	s := &sharedInformers{
		typed:    newTrackedFactory(informers.NewSharedInformerFactory(fake.NewClientset(), 0)),
		metadata: newFakeMetadata(),
		ctx:      own, cancel: stop, started: make(chan struct{}),
	}
	s.useLent(func() (cache.SharedIndexInformer, cache.SharedIndexInformer) { return pods, nodes })
	entered, restored, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	if err := s.handleNodes(func(*corev1.Node) {
		close(entered)
		<-restored
		close(ended)
	}); err != nil {
		t.Fatal(err)
	}
	s.start()
	<-entered
	if err := s.close(); err != nil {
		t.Error(err)
	}
	close(restored)
	<-ended
}

// A restore may recreate the other informers. The lent ones, which outlive them, must not keep their caches.
func TestLentInformersKeepNoCachesOfTheOthers(t *testing.T) {
	lender := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	pods, nodes := lender.Core().V1().Pods().Informer(), lender.Core().V1().Nodes().Informer()
	borrow := func() weak.Pointer[corev1.ConfigMap] {
		s := &sharedInformers{typed: newTrackedFactory(informers.NewSharedInformerFactory(fake.NewClientset(), 0)), ctx: t.Context()}
		s.useLent(func() (cache.SharedIndexInformer, cache.SharedIndexInformer) { return pods, nodes })
		cached := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cached"}}
		if err := s.newView(nil).Core().V1().ConfigMaps().Informer().GetStore().Add(cached); err != nil {
			t.Fatal(err)
		}
		return weak.Make(cached)
	}
	cached := borrow()
	runtime.GC()
	if cached.Value() != nil {
		t.Error("the caches of the others are kept")
	}
	runtime.KeepAlive(lender)
}

// Informers that are lent serve every way to ask for them, and run until their owner stops
// them. The others belong to the factory.
func TestLentInformers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	lender := informers.NewSharedInformerFactory(fake.NewClientset(namedPod("lent", corev1.PodRunning)), 0)
	defer lender.Shutdown()
	defer cancel()
	pods := lender.Core().V1().Pods().Informer()
	lender.Start(ctx.Done())
	lender.WaitForCacheSync(ctx.Done())

	own := informers.NewSharedInformerFactoryWithOptions(fake.NewClientset(), 24*time.Hour, informers.WithTransform(dropManagedFields))
	s := &sharedInformers{typed: newTrackedFactory(own), ctx: ctx}
	s.useLent(func() (cache.SharedIndexInformer, cache.SharedIndexInformer) { return pods, nil })
	f := s.newView(nil)
	generic, err := f.ForResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]cache.Store{
		"typed": f.Core().V1().Pods().Informer().GetStore(), "generic": generic.Informer().GetStore(),
	} {
		if _, exists, err := got.GetByKey("default/lent"); err != nil || !exists {
			t.Errorf("%s: the Pod of the lender is there: %v, %v", name, exists, err)
		}
	}

	added := make(chan string, 1)
	if _, err := f.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { added <- obj.(*corev1.Pod).Name },
	}); err != nil {
		t.Fatal(err)
	}
	nodes := f.Core().V1().Nodes().Informer()
	ownCtx, stopOwn := context.WithCancel(ctx)
	own.StartWithContext(ownCtx)
	if err := own.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		t.Fatal(err)
	}
	if got := <-added; got != "lent" {
		t.Errorf("the handler got %q", got)
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
	stopOwn()
	own.Shutdown()
	if pods.IsStopped() || !nodes.IsStopped() {
		t.Errorf("after the factory has stopped: lent informer stopped: %v, own: %v", pods.IsStopped(), nodes.IsStopped())
	}
}
