package controllers

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

// withTestInformers calls test with shared informers of a fake API server.
func withTestInformers(t *testing.T, client *fake.Clientset, test func(t *testing.T, s *sharedInformers)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &sharedInformers{
			typed:    newTrackedFactory(informers.NewSharedInformerFactory(client, 12*time.Hour)),
			metadata: newFakeMetadata(), ctx: ctx, cancel: cancel, started: make(chan struct{}),
		}
		test(t, s)
		cancel()
		s.typed.Shutdown()
	})
}

// withoutConfigMaps returns a client of an API server that cannot list ConfigMaps.
func withoutConfigMaps() *fake.Clientset {
	client := fake.NewClientset(namedPod("a", corev1.PodRunning))
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("the server could not find the requested resource")
	})
	return client
}

// A kind that cannot be listed must not keep all controllers from starting.
func TestStartDoesNotWaitForAKindThatCannotBeListed(t *testing.T) {
	withTestInformers(t, withoutConfigMaps(), func(t *testing.T, s *sharedInformers) {
		view := s.newView(nil)
		view.barrier = &handlerBarrier{} // as for a controller
		view.Core().V1().ConfigMaps().Informer()
		view.Core().V1().Pods().Informer()
		s.start()
		var log bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.waitForSync(ctx, func(_ context.Context, why string) { log.WriteString(why) }); err != nil {
			t.Error(err)
		}
		if got := log.String(); !strings.Contains(got, "v1.ConfigMap: the server could not find") || strings.Contains(got, "v1.Pod") {
			t.Errorf("logged %q", got)
		}
		if got := view.unlisted(); len(got) != 1 || !strings.Contains(got[0], "v1.ConfigMap: the server could not find") {
			t.Errorf("the controller waits for %q", got)
		}
		viewed := s.newView(nil) // as the scheduler's
		filtered := viewed.viewFiltered(corev1.SchemeGroupVersion.WithResource("pods"), func(any) bool { return true })
		filtered.Core().V1().ConfigMaps().Informer()
		if got := viewed.unlisted(); len(got) != 1 || !strings.Contains(got[0], "v1.ConfigMap: the server could not find") {
			t.Errorf("the controller with a view waits for %q", got)
		}
		if filtered.Shutdown(); viewed.unlisted() != nil {
			t.Errorf("the controller waits for %q of a view that was shut down", viewed.unlisted())
		}
		other := s.newView(nil)
		other.Core().V1().Pods().Informer()
		if got := other.unlisted(); got != nil {
			t.Errorf("one that does not need the kind waits for %q", got)
		}
		cancel()
		if err := s.waitForSync(ctx, func(context.Context, string) {}); !errors.Is(err, context.Canceled) {
			t.Errorf("a start that is interrupted: %v", err)
		}
	})
}

// The watch cache of a kind with an object that cannot be decoded never becomes ready: each request is to be tried again.
func TestStartDoesNotWaitForAKindThatIsNeverReady(t *testing.T) {
	client := fake.NewClientset(namedPod("a", corev1.PodRunning))
	notReady := apierrors.NewTooManyRequests("storage is (re)initializing", 1)
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, notReady })
	client.PrependWatchReactor("configmaps", func(clienttesting.Action) (bool, watch.Interface, error) { return true, nil, notReady })
	withTestInformers(t, client, func(t *testing.T, s *sharedInformers) {
		view := s.newView(nil)
		view.Core().V1().ConfigMaps().Informer()
		view.Core().V1().Pods().Informer()
		s.start()
		var log bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if err := s.waitForSync(ctx, func(_ context.Context, why string) { log.WriteString(why) }); err != nil {
			t.Error(err)
		}
		if got := log.String(); !strings.Contains(got, "v1.ConfigMap: not listed in time") || strings.Contains(got, "v1.Pod") {
			t.Errorf("logged %q", got)
		}
	})
}

// slowPods returns the constructor of an informer whose lists first call list.
func slowPods(list func(elapsed time.Duration) error) internalinterfaces.NewInformerFunc {
	client := fake.NewClientset(namedPod("a", corev1.PodRunning))
	begin := time.Now()
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		err := list(time.Since(begin))
		return err != nil, nil, err
	})
	return func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		return coreinformers.NewPodInformer(client, "", 0, cache.Indexers{})
	}
}

// A list that takes long has not failed: without it controllers would run with empty caches.
func TestStartWaitsForListsInProgress(t *testing.T) {
	// Much longer, and the next try could come after maxStall: a reflector doubles its delay from 0.8 s, and makes each up to
	// twice as long at random.
	const duration = 10 * time.Second
	for name, list := range map[string]func(elapsed time.Duration) error{
		"slow": func(time.Duration) error {
			time.Sleep(duration)
			return nil
		},
		"to be tried again": func(elapsed time.Duration) error {
			if elapsed < duration {
				return apierrors.NewTooManyRequests("storage is (re)initializing", 1)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			withTestInformers(t, withoutConfigMaps(), func(t *testing.T, s *sharedInformers) {
				view := s.newView(nil)
				view.Core().V1().ConfigMaps().Informer()
				pods := view.InformerFor(&corev1.Pod{}, slowPods(list))
				s.start()
				var log bytes.Buffer
				if err := s.waitForSync(t.Context(), func(_ context.Context, why string) { log.WriteString(why) }); err != nil {
					t.Error(err)
				}
				if got := log.String(); !pods.HasSynced() || !strings.Contains(got, "v1.ConfigMap") || strings.Contains(got, "v1.Pod") {
					t.Errorf("Pods are listed: %v; logged %q", pods.HasSynced(), got)
				}
			})
		})
	}
}

// An informer that is lent may run already: then it is not known whether its list fails.
func TestStartDoesNotWaitForLentInformersForLong(t *testing.T) {
	withTestInformers(t, fake.NewClientset(), func(t *testing.T, s *sharedInformers) {
		lent := informers.NewSharedInformerFactory(withoutConfigMaps(), 0)
		configMaps := lent.Core().V1().ConfigMaps().Informer()
		lent.StartWithContext(s.ctx)
		defer lent.Shutdown()
		defer s.cancel()
		s.newView(nil).InformerFor(&corev1.ConfigMap{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
			return lentInformer{configMaps, 0}
		})
		s.start()
		synctest.Wait()
		var log bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.waitForSync(ctx, func(_ context.Context, why string) { log.WriteString(why) }); err != nil || !strings.Contains(log.String(), "v1.ConfigMap") {
			t.Errorf("got %v, logged %q", err, log.String())
		}
	})
}

// A controller waits for its own informers only, as the scheduler does upstream.
func TestViewWaitsForItsOwnInformers(t *testing.T) {
	withTestInformers(t, withoutConfigMaps(), func(t *testing.T, s *sharedInformers) {
		s.typed.Core().V1().ConfigMaps().Informer()
		view := s.newView(nil).viewFiltered(corev1.SchemeGroupVersion.WithResource("pods"), isUnfinished)
		view.Core().V1().Pods().Informer()
		view.Start(nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if result := view.WaitForCacheSyncWithContext(ctx); result.Err != nil || len(result.Synced) != 1 {
			t.Errorf("got %+v", result)
		}
		view.Core().V1().ConfigMaps().Informer()
		if result := view.WaitForCacheSyncWithContext(ctx); !errors.Is(result.Err, context.DeadlineExceeded) {
			t.Errorf("its own kind cannot be listed: %+v", result)
		}
	})
}

// The namespace controller is built when the informers run: an informer in use accepts no shorter
// period than it has.
func TestNamespacesAreResynced(t *testing.T) {
	client := fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	withTestInformers(t, client, func(t *testing.T, s *sharedInformers) {
		if err := s.resyncNamespaces(time.Minute); err != nil {
			t.Fatal(err)
		}
		s.start()
		if err := s.waitForSync(t.Context(), func(context.Context, string) {}); err != nil {
			t.Fatal(err)
		}
		resyncs := 0
		_, err := s.newView(nil).Core().V1().Namespaces().Informer().AddEventHandlerWithResyncPeriod(
			cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { resyncs++ }}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(150 * time.Second)
		synctest.Wait()
		if resyncs != 2 {
			t.Errorf("%d resyncs in 2.5 minutes, want 2", resyncs)
		}
	})
}
