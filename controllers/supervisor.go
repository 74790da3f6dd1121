package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	componentbaseconfig "k8s.io/component-base/config"
	"k8s.io/component-base/configz"
	configv1alpha1 "k8s.io/kube-controller-manager/config/v1alpha1"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	configv1alpha1conversion "k8s.io/kubernetes/pkg/controller/apis/config/v1alpha1"

	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/internal/informersync"
	"github.com/ctrlplane/ctrlplane/internal/parallel"
	"github.com/ctrlplane/ctrlplane/internal/useragent"
)

// Supervisor owns the controllers and the informers that they share. New checks
// the options, Start builds and runs the controllers, Close stops them.
type Supervisor struct {
	cfg    Config
	config *managerConfig
	units  map[string]*unit // by name; fixed after New

	suspension atomic.Pointer[suspension] // the last one; nil if there was none

	mu        sync.Mutex
	informers *sharedInformers               // nil until Prepare
	caches    atomic.Pointer[trackedFactory] // of informers, for those that do not hold the lock
	api       APIServer                      // nil until Start
	started   bool
	closed    bool
}

// New checks cfg and returns a supervisor of every controller that upstream
// knows, all of them off.
func New(cfg Config) (*Supervisor, error) {
	component, err := cfg.componentConfig()
	if err != nil {
		return nil, err
	}
	if cfg.OnUnlisted == nil {
		cfg.OnUnlisted = func(context.Context, string) {}
	}
	s := &Supervisor{cfg: cfg, config: component, units: map[string]*unit{}}
	for _, c := range Catalogue(component.Generic.Controllers, cfg.Extra) {
		u := &unit{
			name:     c.Name,
			aliases:  c.Aliases,
			log:      cfg.Logger.With("controller", c.Name),
			recorder: cfg.recorderFor(c.Name),
			state:    Off,
		}
		u.recorder.SetAliases(c.Aliases)
		u.describeQueues()
		if c.Reason != "" {
			u.setState(Off, c.Reason, nil)
		} else if c.Name == names.NodeIpamController {
			if err := checkPodCIDR(cfg.PodCIDR, component.NodeIPAMController); err != nil {
				return nil, err
			}
		}
		s.units[c.Name] = u
	}
	return s, nil
}

// Prepare builds the controllers that can be built before the API server serves.
// Start does it if it was not called.
func (s *Supervisor) Prepare() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.informers != nil {
		return errors.New("controllers: already prepared or closed")
	}
	return s.prepare()
}

func (s *Supervisor) prepare() error {
	if err := s.publishConfig(); err != nil {
		return err
	}
	var err error
	if s.informers, err = s.newInformers(); err != nil {
		configz.Delete(app.ConfigzName)
		return err
	}
	s.buildOwnerGraph()
	for _, name := range s.startOrder() {
		if needAPIServer[name] {
			continue
		}
		if err := s.buildUnit(s.informers.ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (s *Supervisor) newInformers() (*sharedInformers, error) {
	informers, err := newSharedInformers(s.cfg, s.resyncPeriod())
	if err != nil {
		return nil, err
	}
	if err := informers.resyncNamespaces(s.config.NamespaceController.NamespaceSyncPeriod.Duration); err != nil {
		return nil, errors.Join(err, informers.close())
	}
	s.caches.Store(informers.typed)
	return informers, nil
}

// UnsyncedResources returns the prefixes of the built-in resources that controllers need and that are not listed yet.
func (s *Supervisor) UnsyncedResources() map[string]bool {
	factory := s.caches.Load()
	if factory == nil {
		return nil
	}
	return informersync.Unsynced(factory)
}

// Informer returns the informer of the kind of an object, to read its cache; nil if no controller needs one.
func (s *Supervisor) Informer(of runtime.Object) cache.SharedIndexInformer {
	factory := s.caches.Load()
	if factory == nil {
		return nil
	}
	factory.mu.Lock()
	defer factory.mu.Unlock()
	if informer := factory.kinds[reflect.TypeOf(of)]; informer != nil && informer.HasSynced() {
		return informer
	}
	return nil
}

// needAPIServer are the controllers whose constructors call the API server. They
// are forbidden to do so until the RBAC policy is loaded.
var needAPIServer = map[string]bool{
	names.KubeAPIServerClusterTrustBundlePublisherController: true,
	names.NamespaceController:                                true,
	names.NodeIpamController:                                 true,
	names.ResourceQuotaController:                            true,
}

// APIServer reports the progress of an API server that starts, and of its writes.
type APIServer interface {
	// WaitPolicy returns when the RBAC policy is loaded.
	WaitPolicy(context.Context) error
	// WaitServing returns when it serves all kinds, too.
	WaitServing(context.Context) error
	// DrainNamespace returns a channel that is closed when the writes have ended that
	// were admitted before a namespace was deleted; nil while the API server still
	// admits such writes, because it has not observed the deletion.
	DrainNamespace(name string) <-chan struct{}
}

// Start builds the controllers, and runs them when the API server serves and
// their informers have had time to sync. ctx limits the start only.
func (s *Supervisor) Start(ctx context.Context, api APIServer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.started {
		return errors.New("controllers: already started or closed")
	}
	s.started, s.api = true, api
	if s.informers == nil {
		if err := s.prepare(); err != nil {
			return err
		}
	}
	if err := api.WaitPolicy(ctx); err != nil {
		return err
	}
	if err := s.informers.handleNodes(s.cfg.OnNode); err != nil { // only now: it may start what writes
		return err
	}
	s.informers.newView(nil).StartWithContext(s.informers.ctx) // so far all informers are of built-in kinds
	if err := api.WaitServing(ctx); err != nil {
		return err
	}
	for _, name := range s.startOrder() {
		if !needAPIServer[name] {
			continue
		}
		if err := s.buildUnit(ctx, name); err != nil {
			return err
		}
	}
	s.informers.start()
	if err := s.informers.waitForSync(ctx, s.cfg.OnUnlisted); err != nil {
		return err
	}
	s.countJobs()
	for _, name := range s.startOrder() {
		s.units[name].start()
	}
	return nil
}

// countJobs starts the informer of Config.CountsJobs, after the wait for those that controllers need: the start neither waits for
// it nor warns if it cannot be listed.
func (s *Supervisor) countJobs() {
	if s.cfg.CountsJobs == nil || !s.cfg.CountsJobs() {
		return
	}
	view := s.informers.newView(nil)
	view.Batch().V1().Jobs().Informer()
	view.StartWithContext(s.informers.ctx)
}

// startOrder returns the controllers that are to run: the one that creates token
// Secrets first, as upstream does, the others by name.
func (s *Supervisor) startOrder() []string {
	var rest []string
	for _, name := range slices.Sorted(maps.Keys(s.units)) {
		if s.units[name].status().Reason == "" && name != names.ServiceAccountTokenController {
			rest = append(rest, name)
		}
	}
	if s.units[names.ServiceAccountTokenController].status().Reason != "" {
		return rest
	}
	return append([]string{names.ServiceAccountTokenController}, rest...)
}

// buildUnit constructs a controller. ctx limits the construction only.
func (s *Supervisor) buildUnit(ctx context.Context, name string) error {
	u := s.units[name]
	view := s.informers.newView(u.recorder)
	if name == names.GarbageCollectorController {
		view = s.informers.graphView
	}
	objects, err := intervene.NewObjectReader(s.ManagerConfig("step"))
	if err != nil {
		return fmt.Errorf("controller %s: %w", name, err)
	}
	config := s.config
	if scaled := u.scaled.Load(); scaled != nil {
		config = scaled.config
	}
	gate := u.replaceGate(objects, s.cfg.Pace)
	if view != s.informers.graphView { // another controller reads it, too
		view.gate = gate
	}
	view.barrier = &handlerBarrier{}
	controllerContext := app.ControllerContext{
		ClientBuilder:                   clientBuilder{s.cfg.Connect, s.programOf(name), u.recorder, gate},
		InformerFactory:                 view,
		ObjectOrMetadataInformerFactory: objectOrMetadata{view},
		ComponentConfig:                 *config,
		RESTMapper:                      s.informers.mapper,
		InformersStarted:                s.informers.started,
		ResyncPeriod:                    s.resyncPeriod,
		ControllerManagerMetrics:        s.informers.metrics,
		GraphBuilder:                    s.informers.graph,
	}
	return u.build(s.informers.ctx, view, view.barrier.wrapConstructor(endWith(ctx, s.constructorFor(name, controllerContext))))
}

// resyncPeriod returns a random duration of one to two periods, which spreads resyncs.
func (s *Supervisor) resyncPeriod() time.Duration {
	return time.Duration(float64(s.config.Generic.MinResyncPeriod.Duration) * (1 + rand.Float64()))
}

// Statuses returns the status of every controller, sorted by name.
func (s *Supervisor) Statuses() []Status {
	var all []Status
	for _, name := range slices.Sorted(maps.Keys(s.units)) {
		all = append(all, s.units[name].status())
	}
	return all
}

// Unlisted returns why kinds that a running controller needs cannot be listed; empty if they can.
func (s *Supervisor) Unlisted(controller string) string {
	u := s.units[controller]
	if u == nil {
		return ""
	}
	run := u.currentRun()
	if run == nil || !u.status().State.isRunning() {
		return ""
	}
	return strings.Join(run.view.unlisted(), "; ")
}

// HealthChecks returns the checks of the controllers that are to run: ready has one
// for each controller, for /readyz; alive has one for all, for /livez and
// /healthz, as upstream needs about 0.1 ms of the start for each path of a check.
func (s *Supervisor) HealthChecks() (ready, alive []healthz.HealthChecker) {
	order := s.startOrder()
	for _, name := range order {
		u := s.units[name]
		ready = append(ready, healthz.NamedCheck(name, func(req *http.Request) error {
			if s.cfg.Standby && u.status().State == Off {
				return nil
			}
			return u.checkReady(req)
		}))
	}
	return ready, []healthz.HealthChecker{healthz.NamedCheck("controllers", func(req *http.Request) error {
		var errs []error
		for _, name := range order {
			if err := s.units[name].checkAlive(req); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
		return errors.Join(errs...)
	})}
}

// LeaderElection returns the settings of the lease that allows one of several
// processes to run the controllers.
func (s *Supervisor) LeaderElection() componentbaseconfig.LeaderElectionConfiguration {
	return s.config.Generic.LeaderElection
}

// NodeMonitorGracePeriod returns how long node-lifecycle-controller waits for a heartbeat.
func (s *Supervisor) NodeMonitorGracePeriod() time.Duration {
	return s.config.NodeLifecycleController.NodeMonitorGracePeriod.Duration
}

// ManagerConfig returns a client configuration for the controller manager's own user.
func (s *Supervisor) ManagerConfig(agent string) *rest.Config {
	return useragent.Set(s.cfg.Connect(managerUser()), useragent.ControllerManager, agent)
}

// DebugPath is the path below which ServeHTTP must be served.
const DebugPath = "/debug/controllers"

// ServeHTTP serves the debugging endpoints of controllers that have one, at
// DebugPath/NAME.
func (s *Supervisor) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	name, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, DebugPath+"/"), "/")
	u := s.units[name]
	if u == nil {
		http.NotFound(w, req)
		return
	}
	handler := u.debugHandler()
	if handler == nil {
		http.NotFound(w, req)
		return
	}
	http.StripPrefix(DebugPath+"/"+name, handler).ServeHTTP(w, req)
}

// Close stops the controllers, then their informers, and returns when all have stopped.
func (s *Supervisor) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.informers == nil {
		return nil
	}
	configz.Delete(app.ConfigzName)
	units := slices.Collect(maps.Values(s.units))
	err := parallel.For(len(units), func(i int) error { return units[i].stop() })
	return errors.Join(err, s.informers.close())
}

// publishConfig serves the configuration at /configz, as upstream does.
func (s *Supervisor) publishConfig() error {
	external := &configv1alpha1.KubeControllerManagerConfiguration{}
	err := configv1alpha1conversion.Convert_config_KubeControllerManagerConfiguration_To_v1alpha1_KubeControllerManagerConfiguration(s.config, external, nil)
	if err != nil {
		return fmt.Errorf("controllers: configz: %w", err)
	}
	external.SetGroupVersionKind(configv1alpha1.SchemeGroupVersion.WithKind("KubeControllerManagerConfiguration"))
	entry, err := configz.New(app.ConfigzName)
	if err != nil {
		return fmt.Errorf("controllers: another control plane runs controllers in this process: %w", err)
	}
	return entry.Set(external)
}
