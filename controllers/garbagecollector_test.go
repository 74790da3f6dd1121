package controllers

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
)

// crdAwareGC needs the method Sync of upstream's garbage collector.
var _ garbageCollector = (*namedGarbageCollector)(nil)

// namedGarbageCollector has the methods of upstream's type and, as upstream's
// wrapper in cmd/kube-controller-manager/app, a name.
type namedGarbageCollector struct {
	*garbagecollector.GarbageCollector
}

func (namedGarbageCollector) Name() string        { return "" }
func (namedGarbageCollector) Run(context.Context) {}

// Another type than the expected one is an error: with the type alone, custom
// resources would be collected late, and nothing would show it.
func TestGarbageCollectorOfOtherTypeIsRefused(t *testing.T) {
	if gc, err := newCRDAwareGC(app.ControllerContext{}, funcController{name: "x"}); gc != nil || err == nil {
		t.Errorf("got %v, %v", gc, err)
	}
	if gc, err := newCRDAwareGC(app.ControllerContext{}, nil); gc != nil || err != nil {
		t.Errorf("a garbage collector that declines to run: %v, %v", gc, err)
	}
}

// monitoringGC compares the kinds with those of the last time, as upstream's Sync does.
type monitoringGC struct {
	garbageCollector
	kinds     string
	monitored atomic.Value // string
}

func (gc *monitoringGC) Sync(ctx context.Context, _ discovery.ServerResourcesInterface, period time.Duration) {
	known := ""
	wait.UntilWithContext(ctx, func(context.Context) {
		if known != gc.kinds {
			known = gc.kinds
			gc.monitored.Store(known)
		}
	}, period)
}

// Upstream's own loop may have read the kinds before a change, and set the monitors
// after it: it reads them again after 30 s only.
func TestNewKindIsMonitoredAlthoughUpstreamRemovesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		upstream := &monitoringGC{kinds: "pods widgets"}
		gc := &crdAwareGC{garbageCollector: upstream}
		ended := make(chan bool)
		go func() { ended <- gc.resyncKinds(t.Context(), nil) }()
		synctest.Wait()
		if got := upstream.monitored.Load(); got != "pods widgets" {
			t.Errorf("monitored: %q", got)
		}
		upstream.monitored.Store("pods")
		if changedAgain, got := <-ended, upstream.monitored.Load(); changedAgain || got != "pods widgets" {
			t.Errorf("monitored after a late update of upstream: %q", got)
		}
	})
}

// waitingGC waits for caches as upstream's garbage collector does, which logs an error when that ends.
// A change follows the begin.
type waitingGC struct {
	garbageCollector
	changed chan<- struct{}
}

func (gc waitingGC) Sync(ctx context.Context, _ discovery.ServerResourcesInterface, _ time.Duration) {
	gc.changed <- struct{}{}
	cache.WaitForNamedCacheSyncWithContext(ctx, func() bool { return false })
}

// A wait for caches that ends because the kinds are read again is not an error.
func TestEndOfSyncIsNotAnError(t *testing.T) {
	var log strings.Builder
	ctx := klog.NewContext(t.Context(), logr.FromSlogHandler(slog.NewTextHandler(&log, nil)))
	changed := make(chan struct{}, 1)
	gc := &crdAwareGC{garbageCollector: waitingGC{changed: changed}}
	if !gc.resyncKinds(ctx, changed) {
		t.Error("the change was missed")
	}
	if got := log.String(); strings.Contains(got, "level=ERROR") || !strings.Contains(got, "Unable to sync caches") {
		t.Error(got)
	}
}
