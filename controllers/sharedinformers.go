package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	cacheddiscovery "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/internal/useragent"
	"github.com/ctrlplane/ctrlplane/observe"
)

// mapperResetPeriod is how often the mapping of kinds to resources is read again,
// as upstream does.
const mapperResetPeriod = 30 * time.Second

const (
	// maxSyncWait is how long a start waits for lists that fail.
	maxSyncWait = 5 * time.Second
	// maxStall is how long it then waits for lists in progress without an end of any.
	maxStall = 30 * time.Second
	// syncPollPeriod is how often it looks, after that, whether the others have ended.
	syncPollPeriod = 100 * time.Millisecond
)

// sharedInformers are the informers of all controllers: one cache for each resource.
type sharedInformers struct {
	typed          *trackedFactory
	metadata       metadatainformer.SharedInformerFactory
	metadataClient metadata.Interface
	served         discovery.CachedDiscoveryInterface
	mapper         *restmapper.DeferredDiscoveryRESTMapper // of served
	metrics        *controllersmetrics.ControllerManagerMetrics
	started        chan struct{} // closed when the informers are started
	// graph is the garbage collector's graph of owners, which the storage version
	// migrator reads, too. Its event handlers belong to graphView.
	graph     *garbagecollector.GraphBuilder
	graphView *informerView

	recorder  *observe.Recorder // of the informers' own calls; may be nil
	ctx       context.Context
	cancel    context.CancelFunc
	resetting sync.WaitGroup // of the mapper

	removeNodeHandler func() error
}

func newSharedInformers(cfg Config, resync time.Duration) (*sharedInformers, error) {
	as := cfg.recorderFor(sharedInformersName)
	config := func(agent string) *rest.Config {
		return recording.ObserveCalls(useragent.Set(cfg.Connect(managerUser()), useragent.ControllerManager, agent), as)
	}
	client, err := kubernetes.NewForConfig(config("shared-informers"))
	if err != nil {
		return nil, err
	}
	metadataClient, err := metadata.NewForConfig(config("metadata-informers"))
	if err != nil {
		return nil, err
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(config("controller-discovery"))
	if err != nil {
		return nil, err
	}
	name, err := cache.NewInformerName("kube-controller-manager")
	if err != nil {
		return nil, fmt.Errorf("controllers: another control plane runs controllers in this process: %w", err)
	}
	served := cacheddiscovery.NewMemCacheClient(discoveryClient)
	ctx, cancel := context.WithCancel(context.Background())
	s := &sharedInformers{
		typed: newTrackedFactory(informers.NewSharedInformerFactoryWithOptions(client, resync,
			informers.WithTransform(dropManagedFields), informers.WithInformerName(name))),
		metadata: metadatainformer.NewSharedInformerFactoryWithOptions(metadataClient, resync,
			metadatainformer.WithTransform(dropManagedFields)),
		metadataClient: metadataClient,
		served:         served,
		mapper:         restmapper.NewDeferredDiscoveryRESTMapper(served),
		metrics:        controllersmetrics.NewControllerManagerMetrics("kube-controller-manager"),
		started:        make(chan struct{}),
		recorder:       as,
		ctx:            ctx,
		cancel:         cancel,

		removeNodeHandler: func() error { return nil },
	}
	s.useLent(cfg.Lent)
	controllersmetrics.Register()
	s.resetting.Go(func() {
		wait.UntilWithContext(ctx, func(context.Context) { s.mapper.Reset() }, mapperResetPeriod)
	})
	return s, nil
}

// dropManagedFields saves memory: no controller reads managed fields.
func dropManagedFields(obj any) (any, error) {
	if accessor, err := meta.Accessor(obj); err == nil && accessor.GetManagedFields() != nil {
		accessor.SetManagedFields(nil)
	}
	return obj, nil
}

// handleNodes calls handle for each Node that exists or changes.
func (s *sharedInformers) handleNodes(handle func(*corev1.Node)) error {
	if handle == nil {
		return nil
	}
	on := func(obj any) {
		if node, ok := obj.(*corev1.Node); ok {
			handle(node)
		}
	}
	nodes := s.newView(nil).Core().V1().Nodes().Informer()
	handler, err := nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: on, UpdateFunc: func(_, obj any) { on(obj) },
	})
	if err == nil {
		// It may be waiting for the end of what recreates the informers.
		s.removeNodeHandler = func() error { return nodes.RemoveEventHandler(handler) }
	}
	return err
}

// newView is a controller's view; by may be nil.
func (s *sharedInformers) newView(by *observe.Recorder) *informerView {
	return &informerView{typed: s.typed, tracked: s.typed, metadata: s.metadata, ctx: s.ctx, sharedRecorder: s.recorder, recorder: by}
}

func (s *sharedInformers) start() {
	s.newView(nil).StartWithContext(s.ctx)
	close(s.started)
}

// waitForSync waits for the informers of built-in kinds. It does not wait long for those whose
// lists fail, as those of a kind that the API server does not serve, or of one with an object
// that cannot be decoded, never succeed: only the controllers that need them wait. With a watch
// cache the latter do not fail but ask to try again, forever. It does not wait for those of custom
// resources, whose conversion webhook may be down. onUnlisted is called with why lists fail, if some do.
func (s *sharedInformers) waitForSync(ctx context.Context, onUnlisted func(ctx context.Context, why string)) error {
	limited, cancel := context.WithTimeoutCause(ctx, maxSyncWait, errors.New("not listed in time"))
	defer cancel()
	if s.typed.WaitForCacheSyncWithContext(limited).Err == nil {
		return nil
	}
	var reasons []string
	var inProgress int
	changed := time.Now()
	err := wait.PollUntilContextCancel(ctx, syncPollPeriod, true, func(context.Context) (done bool, err error) {
		before := inProgress
		if reasons, inProgress = s.typed.unlisted(); inProgress != before {
			changed = time.Now()
		}
		return inProgress == 0 || time.Since(changed) >= maxStall, nil
	})
	if err != nil || ctx.Err() != nil {
		return fmt.Errorf("controllers: informers: %w", context.Cause(ctx))
	}
	if err := s.typed.WaitForCacheSyncWithContext(limited).AsError(); err != nil {
		if inProgress > 0 || len(reasons) == 0 {
			reasons = append(reasons, err.Error())
		}
		onUnlisted(ctx, strings.Join(reasons, "; "))
	}
	return nil
}

// resyncNamespaces lets handlers of Namespaces ask for resyncs as often as period. Those of the
// namespace controller are added when the informer runs, and it then shortens no period.
func (s *sharedInformers) resyncNamespaces(period time.Duration) error {
	_, err := s.newView(nil).Core().V1().Namespaces().Informer().AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{}, period)
	return err
}

func (s *sharedInformers) close() error {
	err := s.removeNodeHandler()
	s.cancel()
	s.typed.Shutdown()
	s.metadata.Shutdown()
	s.resetting.Wait()
	return err
}
