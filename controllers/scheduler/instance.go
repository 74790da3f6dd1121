package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/configz"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	upstream "k8s.io/kubernetes/pkg/scheduler"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	conversionv1 "k8s.io/kubernetes/pkg/scheduler/apis/config/v1"
	schedulermetrics "k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	"github.com/ctrlplane/ctrlplane/internal/useragent"
)

const (
	// configzName is the name of the scheduler's configuration upstream.
	configzName = "componentconfig"
	// handlersPollInterval is how often Start checks whether the event handlers have
	// synced.
	handlersPollInterval = 5 * time.Millisecond
)

// instance is one run of the scheduler, from its construction to its end.
type instance struct {
	upstream         *upstream.Scheduler
	cycles           *cycles
	events           events.EventBroadcaster
	typed            informers.SharedInformerFactory
	dynamic          dynamicinformer.DynamicSharedInformerFactory
	configzPublished bool
	ctx              context.Context
	cancel           context.CancelFunc
	ended            chan struct{} // closed when upstream's Run has returned; nil before run
	watched          chan struct{} // closed when watchExit has returned; nil before run
}

// schedulerUser is the user that the scheduler acts as: upstream's, with the
// permissions of the bootstrap policy.
func schedulerUser() user.Info {
	return &user.DefaultInfo{Name: user.KubeScheduler, Groups: []string{user.AllAuthenticated}}
}

// startInstance builds the scheduler and starts its informers.
func (s *Scheduler) startInstance() (*instance, error) {
	if err := publishConfigz(s.component); err != nil {
		return nil, err
	}
	resetQueueMetrics()
	if _, err := readGauge(schedulermetrics.ActivePods()); err != nil {
		s.cfg.Logger.Warn("the scheduler's queues cannot be observed", "err", err)
	}
	inst, err := s.buildInstance(useragent.Set(s.cfg.Connect(schedulerUser()), useragent.Scheduler, "scheduler"), s.newInformers)
	if err != nil {
		configz.Delete(configzName)
		return nil, fmt.Errorf("build: %w", err)
	}
	inst.configzPublished = true
	if err := inst.events.StartRecordingToSinkWithContext(inst.ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("events: %w", err), inst.close())
	}
	inst.typed.StartWithContext(inst.ctx)
	inst.dynamic.Start(inst.ctx.Done())
	return inst, nil
}

// newInformers returns the informers of the scheduler: of all Pods but those that have
// finished, and of all other objects.
func (s *Scheduler) newInformers(client kubernetes.Interface) informers.SharedInformerFactory {
	if s.cfg.Informers == nil {
		return newOwnInformers(client)
	}
	return s.cfg.Informers(corev1.SchemeGroupVersion.WithResource("pods"), isUnfinished)
}

// isUnfinished reports whether upstream's own informer of Pods would hold a Pod.
func isUnfinished(obj any) bool {
	pod, ok := obj.(*corev1.Pod)
	return !ok || pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

func newOwnInformers(client kubernetes.Interface) informers.SharedInformerFactory {
	return upstream.NewInformerFactory(client, 0, nil)
}

// buildInstance creates upstream's scheduler with a context of its own. It calls no
// server and starts nothing.
func (s *Scheduler) buildInstance(cfg *rest.Config, newInformers func(kubernetes.Interface) informers.SharedInformerFactory) (_ *instance, err error) {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	inst := &instance{
		events:  events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()}),
		typed:   newInformers(client),
		dynamic: dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamicClient, 0, metav1.NamespaceAll, nil),
	}
	inst.cycles = newCycles(s.recorder, cmp.Or(s.cfg.Totals, &Totals{}))
	if s.cfg.WaitTurn != nil {
		inst.cycles.waitTurn = func() { s.cfg.WaitTurn(inst.ctx) }
	}
	inst.ctx, inst.cancel = context.WithCancel(klog.NewContext(context.Background(), inst.cycles.newLogger(s.cfg.Logger.Handler())))
	component := s.component.DeepCopy() // upstream defaults the profiles in place
	inst.upstream, err = upstream.New(inst.ctx, client, inst.typed, inst.dynamic, inst.cycles.observeBindings(profile.NewRecorderFactory(inst.events)),
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
		return nil, errors.Join(err, inst.close())
	}
	inst.cycles.observe(inst.upstream)
	return inst, nil
}

// publishConfigz serves the configuration at /configz, as upstream does.
func publishConfigz(component *schedulerconfig.KubeSchedulerConfiguration) error {
	external := &configv1.KubeSchedulerConfiguration{}
	if err := conversionv1.Convert_config_KubeSchedulerConfiguration_To_v1_KubeSchedulerConfiguration(component, external, nil); err != nil {
		return err
	}
	external.SetGroupVersionKind(configv1.SchemeGroupVersion.WithKind("KubeSchedulerConfiguration"))
	entry, err := configz.New(configzName)
	if err != nil {
		return fmt.Errorf("another scheduler is running in this process: %w", err)
	}
	if err := entry.Set(external); err != nil {
		configz.Delete(configzName)
		return fmt.Errorf("publish the configuration: %w", err)
	}
	return nil
}

// waitSynced waits until the caches and the scheduling queue are in sync with the
// server.
func (inst *instance) waitSynced(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(inst.ctx, cancel)() // on close
	if err := inst.typed.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		return fmt.Errorf("informers: %w", err)
	}
	for gvr, ok := range inst.dynamic.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return fmt.Errorf("informer of %s: %w", gvr, context.Cause(ctx))
		}
	}
	return inst.waitHandlersSynced(ctx)
}

// waitHandlersSynced waits until the event handlers have received everything that
// the informers hold. It calls upstream's WaitForHandlersSync with a short timeout
// again and again: that checks at once and then only every 100 ms, a third of the
// time that a start takes.
func (inst *instance) waitHandlersSynced(ctx context.Context) error {
	for {
		check, cancel := context.WithTimeout(ctx, handlersPollInterval)
		err := inst.upstream.WaitForHandlersSync(check)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("event handlers: %w", context.Cause(ctx))
		}
	}
}

// run schedules Pods until the context ends.
func (inst *instance) run() {
	inst.ended, inst.watched = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(inst.ended)
		inst.upstream.Run(inst.ctx)
	}()
}

// close stops what buildInstance, startInstance and run have started. Each part is
// stopped before the parts that it uses.
func (inst *instance) close() error {
	inst.cancel()
	defer inst.cycles.close()
	if inst.configzPublished {
		configz.Delete(configzName)
	}
	if inst.ended != nil {
		timeout := time.NewTimer(stopTimeout)
		defer timeout.Stop()
		select {
		case <-inst.ended:
		case <-timeout.C:
			return fmt.Errorf("scheduler: still running %v after it was stopped", stopTimeout)
		}
		<-inst.watched
	}
	inst.events.Shutdown()
	inst.typed.Shutdown()
	inst.dynamic.Shutdown()
	return nil
}
