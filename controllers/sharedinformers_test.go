package controllers

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

// withTestInformers calls test with shared informers of a fake API server.
func withTestInformers(t *testing.T, client *fake.Clientset, test func(t *testing.T, s *sharedInformers)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &sharedInformers{
			typed: informers.NewSharedInformerFactory(client, 12*time.Hour), metadata: newFakeMetadata(), ctx: ctx, started: make(chan struct{}),
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
		s.typed.Core().V1().ConfigMaps().Informer()
		s.typed.Core().V1().Pods().Informer()
		s.start()
		var log bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.waitForSync(ctx, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
			t.Error(err)
		}
		if got := log.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, "v1.ConfigMap") || strings.Contains(got, "v1.Pod") {
			t.Errorf("logged %q", got)
		}
		cancel()
		if err := s.waitForSync(ctx, slog.New(slog.DiscardHandler)); !errors.Is(err, context.Canceled) {
			t.Errorf("a start that is interrupted: %v", err)
		}
	})
}

// A controller waits for its own informers only, as the scheduler does upstream.
func TestViewWaitsForItsOwnInformers(t *testing.T) {
	withTestInformers(t, withoutConfigMaps(), func(t *testing.T, s *sharedInformers) {
		s.typed.Core().V1().ConfigMaps().Informer()
		view := s.newFacade(nil).viewFiltered(corev1.SchemeGroupVersion.WithResource("pods"), isUnfinished)
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
		if err := s.waitForSync(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		resyncs := 0
		_, err := s.newFacade(nil).Core().V1().Namespaces().Informer().AddEventHandlerWithResyncPeriod(
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
