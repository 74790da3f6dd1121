package nodes

import (
	"context"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"

	"github.com/ctrlplane/ctrlplane/observe"
)

// component reports what no kubelet does: what is simulated about a Pod, and what is wrong with annotations and
// Stages.
const component = "ctrlplane-nodes"

// kubeletComponent reports what a kubelet does.
const kubeletComponent = "kubelet"

// simulation does the work of the kubelets of a fleet.
type simulation struct {
	ctx        context.Context
	cancel     context.CancelFunc
	client     kubernetes.Interface
	registry   *podRegistry
	log        *slog.Logger
	heartbeats *heartbeats
	podPlayer  *player
	nodePlayer *player
	nodes      *nodeFeed
	pods       *podFeed
	wg         sync.WaitGroup

	stages                *stageSet
	stageClients          stageClients
	renderer              gotpl.Renderer // of the templates of stages
	podStages, nodeStages stageQueue
	stageWorkers          sync.WaitGroup
	playing               sync.Map // runs to loggers that name them

	stagesKnown     chan struct{} // closed when the Stages of users have been listed, or need not be awaited
	markStagesKnown func()

	changes  workqueue.TypedInterface[podChange] // Pods whose commands have changed
	events   record.EventBroadcaster
	recorder record.EventRecorder
}

// startSimulation starts a simulation, which runs until stop is called.
func startSimulation(cfg Config, client kubernetes.Interface, stages stageClients, registry *podRegistry, log *slog.Logger) *simulation {
	ctx, cancel := context.WithCancel(context.Background())
	s := &simulation{
		cancel: cancel, client: client, registry: registry, log: log, stagesKnown: make(chan struct{}), stageClients: stages,
		renderer: gotpl.NewRenderer(registry.templateFunctions()),
	}
	s.markStagesKnown = sync.OnceFunc(func() { close(s.stagesKnown) })
	ctx = withLogger(ctx, log)
	s.ctx, s.stages = ctx, newStageSet(s.ignoreEndlessStage)
	s.heartbeats = newHeartbeats(ctx, client, renewInterval(cfg.MonitorGracePeriod), cfg.Recorder.KeyedQueue("leases"), func(node string, err error) {
		log.Error("cannot renew a lease", "node", node, "err", err)
	})
	s.events = record.NewBroadcaster(record.WithContext(ctx))
	s.startPlayers()
	s.recorder = s.events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component})
	s.nodes = &nodeFeed{
		ctx: ctx, registry: registry, stages: s.stages,
		onLive: s.onNodeLive, onDead: s.onNodeDead, schedule: s.nodePlayer.schedule, synced: make(chan struct{}),
	}
	s.pods = &podFeed{
		ctx: ctx, registry: registry, stages: s.stages,
		schedule: s.podPlayer.schedule,
		getNode: func(ctx context.Context, name string) (*corev1.Node, error) {
			return client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		},
		record: s.recordPodEvent,
	}
	s.podStages = s.startStageWorkers(podWorkers, s.pods.takeStage)
	s.nodeStages = s.startStageWorkers(nodeWorkers, s.nodes.takeStage)
	s.startCommands()
	s.events.StartRecordingToSink(&clientcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	pods, nodes := cfg.Informers()
	fill(s, s.nodes, nodes, func(any) bool { return true }, s.stagesKnown, cfg.Recorder.AddHandler("nodes"))
	fill(s, s.pods, pods, isBound, s.nodes.synced, cfg.Recorder.AddHandler("pods")) // a Pod is ignored until its node is known
	if stages.kwok == nil {
		s.markStagesKnown()
	} else {
		s.wg.Go(func() { s.watchStages(stages) })
	}
	return s
}

// stop ends the simulation.
func (s *simulation) stop() {
	s.cancel()
	s.changes.ShutDown()
	s.stopPlayers()
	s.wg.Wait()
	s.awaitStageWorkers()
	if s.registry.commands != nil {
		s.registry.commands.Stop()
	}
	s.heartbeats.stop()
	s.events.Shutdown()
}

func (s *simulation) recordPodEvent(pod *corev1.Pod, event podEvent) {
	kind := corev1.EventTypeNormal
	if event.warning {
		kind = corev1.EventTypeWarning
	}
	recorder := s.recorder
	if !event.simulator {
		recorder = s.kubeletRecorder(pod)
	}
	recorder.Event(eventObject(pod, event.container), kind, event.reason, event.message)
}

// kubeletRecorder returns a recorder for the kubelet of a Pod's node. All have the same broadcaster: none is kept.
func (s *simulation) kubeletRecorder(pod *corev1.Pod) record.EventRecorder {
	return s.events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: kubeletComponent, Host: pod.Spec.NodeName})
}

// fill fills a feed until the context ends, beginning when after is closed.
func fill[T runtime.Object](s *simulation, to feed[T], informer cache.SharedIndexInformer, condition func(obj any) bool, after <-chan struct{}, progress *observe.Handler) {
	s.wg.Go(func() {
		defer progress.Close()
		select {
		case <-after:
		case <-s.ctx.Done():
			return
		}
		if err := follow(s.ctx, informer, condition, to, progress); err != nil && s.ctx.Err() == nil {
			s.log.Error("simulated nodes do not receive changes", "err", err)
		}
	})
}

// onNodeDead is called when a live node has failed or was deleted.
func (s *simulation) onNodeDead(name string) {
	s.heartbeats.stopRenewing(name)
	s.pods.forgetStages(name)
}

const boundPods = "spec.nodeName!="

// isBound reports whether boundPods selects a Pod.
func isBound(obj any) bool {
	pod, ok := obj.(*corev1.Pod)
	return ok && pod.Spec.NodeName != ""
}

// onNodeLive is called when a node has become live. The feed ignored its Pods until
// now.
func (s *simulation) onNodeLive(node *corev1.Node) {
	s.heartbeats.startRenewing(node)
	if s.registry.hasPods(node.Name) {
		s.reprocessPods(node.Name)
	}
}

// reprocessPods passes all Pods of a node to the feed again, because something else
// that they depend on has changed. An empty name means all nodes.
func (s *simulation) reprocessPods(node string) {
	options := metav1.ListOptions{FieldSelector: boundPods}
	if node != "" {
		options.FieldSelector = "spec.nodeName=" + node
	}
	s.wg.Go(func() {
		err := wait.PollUntilContextCancel(s.ctx, time.Second, true, func(ctx context.Context) (bool, error) {
			list, err := s.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
			if err != nil {
				s.log.Warn("cannot list pods: retrying in 1 s", "selector", options.FieldSelector, "err", err)
				return false, nil
			}
			s.pods.processListed(list.Items)
			return true, nil
		})
		if err != nil && s.ctx.Err() == nil {
			s.log.Error("cannot list pods", "selector", options.FieldSelector, "err", err)
		}
	})
}
