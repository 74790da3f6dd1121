package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/configz"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	upstream "k8s.io/kubernetes/pkg/scheduler"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	conversionv1 "k8s.io/kubernetes/pkg/scheduler/apis/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

const (
	// configzName is upstream's own for the scheduler.
	configzName = "componentconfig"
	// handlersPollInterval is how often a start looks whether the handlers have synced.
	handlersPollInterval = 5 * time.Millisecond
)

// instance is one run of the scheduler, from its construction to its end.
type instance struct {
	upstream         *upstream.Scheduler
	events           events.EventBroadcaster
	typed            informers.SharedInformerFactory
	dynamic          dynamicinformer.DynamicSharedInformerFactory
	configzPublished bool // at /configz
	ctx              context.Context
	cancel           context.CancelFunc
	ended            chan struct{} // closed when run is over; nil before run
}

// schedulerUser is whom the scheduler acts as: upstream's user, with no more power
// than the bootstrap policy gives it.
func schedulerUser() user.Info {
	return &user.DefaultInfo{Name: user.KubeScheduler, Groups: []string{user.AllAuthenticated}}
}

// startInstance builds the scheduler and starts its informers.
func (s *Scheduler) startInstance() (*instance, error) {
	s.recordState(stateBuilding, "")
	name, err := cache.NewInformerName(Name)
	if err != nil {
		return nil, fmt.Errorf("another one runs in this process: %w", err)
	}
	resetQueueMetrics()
	l, err := s.buildInstance(rest.AddUserAgent(s.cfg.Connect(schedulerUser()), "scheduler"), name)
	if err != nil {
		name.Release()
		return nil, fmt.Errorf("build: %w", err)
	}
	if err := l.publishConfigz(s.component); err != nil {
		return nil, errors.Join(fmt.Errorf("/configz: %w", err), l.close())
	}
	if err := l.events.StartRecordingToSinkWithContext(l.ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("events: %w", err), l.close())
	}
	l.typed.StartWithContext(l.ctx)
	l.dynamic.Start(l.ctx.Done())
	return l, nil
}

// buildInstance makes upstream's scheduler with a context of its own. It calls no
// server, and what it makes does nothing yet.
func (s *Scheduler) buildInstance(cfg *rest.Config, name *cache.InformerName) (_ *instance, err error) {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	l := &instance{
		events:  events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()}),
		typed:   upstream.NewInformerFactory(client, 0, name),
		dynamic: dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamicClient, 0, metav1.NamespaceAll, nil),
	}
	l.ctx, l.cancel = context.WithCancel(klog.NewContext(context.Background(), logr.FromSlogHandler(s.cfg.Logger.Handler())))
	component := s.component.DeepCopy() // upstream completes the profiles in place
	l.upstream, err = upstream.New(l.ctx, client, l.typed, l.dynamic, profile.NewRecorderFactory(l.events),
		upstream.WithComponentConfigVersion(component.APIVersion),
		upstream.WithKubeConfig(cfg),
		upstream.WithProfiles(component.Profiles...),
		upstream.WithPercentageOfNodesToScore(component.PercentageOfNodesToScore),
		upstream.WithPodMaxBackoffSeconds(component.PodMaxBackoffSeconds),
		upstream.WithPodInitialBackoffSeconds(component.PodInitialBackoffSeconds),
		upstream.WithPodMaxInUnschedulablePodsDuration(s.maxUnschedulable),
		upstream.WithExtenders(component.Extenders...),
		upstream.WithParallelism(component.Parallelism),
	)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// publishConfigz puts the configuration at /configz, as upstream does.
func (l *instance) publishConfigz(component *schedulerconfig.KubeSchedulerConfiguration) error {
	external := &configv1.KubeSchedulerConfiguration{}
	if err := conversionv1.Convert_config_KubeSchedulerConfiguration_To_v1_KubeSchedulerConfiguration(component, external, nil); err != nil {
		return err
	}
	external.SetGroupVersionKind(configv1.SchemeGroupVersion.WithKind("KubeSchedulerConfiguration"))
	entry, err := configz.New(configzName)
	if err != nil {
		return err
	}
	l.configzPublished = true
	return entry.Set(external)
}

// waitSynced waits until the caches and the queue hold what the server has.
func (l *instance) waitSynced(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)() // closed meanwhile
	if err := l.typed.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		return fmt.Errorf("informers: %w", err)
	}
	for gvr, ok := range l.dynamic.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return fmt.Errorf("informer of %s: %w", gvr, context.Cause(ctx))
		}
	}
	return l.waitHandlersSynced(ctx)
}

// waitHandlersSynced waits until the handlers have had all that the informers hold.
// Upstream looks at once, and then every 100 ms only: a third of a start.
func (l *instance) waitHandlersSynced(ctx context.Context) error {
	for {
		look, cancel := context.WithTimeout(ctx, handlersPollInterval)
		err := l.upstream.WaitForHandlersSync(look)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("event handlers: %w", context.Cause(ctx))
		}
	}
}

// run schedules until the context ends.
func (l *instance) run() {
	l.ended = make(chan struct{})
	go func() {
		defer close(l.ended)
		l.upstream.Run(l.ctx)
	}()
}

// close ends what build, begin and run have started, in the order in which
// each may still need the next.
func (l *instance) close() error {
	l.cancel()
	if l.configzPublished {
		configz.Delete(configzName)
	}
	if l.ended != nil {
		timeout := time.NewTimer(stopTimeout)
		defer timeout.Stop()
		select {
		case <-l.ended:
		case <-timeout.C:
			return fmt.Errorf("scheduler: still running %v after it was told to stop", stopTimeout)
		}
	}
	l.events.Shutdown()
	l.typed.Shutdown()
	l.dynamic.Shutdown()
	return nil
}
