// Package controllers builds, runs and stops upstream's controllers, each with
// its own clients, informers, logger and lifetime.
package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/rest"
	componentbaseconfig "k8s.io/component-base/config"
	"k8s.io/component-base/configz"
	configv1alpha1 "k8s.io/kube-controller-manager/config/v1alpha1"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"
	configv1alpha1conversion "k8s.io/kubernetes/pkg/controller/apis/config/v1alpha1"
)

// Supervisor owns the controllers and the informers that they share. New checks
// the options, Start builds and runs all that they ask for, Close ends it all.
type Supervisor struct {
	cfg     Config
	config  *kubectrlmgrconfig.KubeControllerManagerConfiguration
	units   map[string]*unit // by name; fixed after New
	workers map[queueKey]int // fixed after New

	mu        sync.Mutex
	informers *sharedInformers // nil until Prepare
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
	s := &Supervisor{cfg: cfg, config: component, units: map[string]*unit{}, workers: workerCounts(component)}
	for _, c := range buildCatalogue(component.Generic.Controllers, cfg.Extra) {
		u := &unit{
			name:     c.Name,
			aliases:  c.Aliases,
			log:      cfg.Logger.With("controller", c.Name),
			recorder: cfg.recorderFor(c.Name),
			state:    Off,
		}
		if c.Reason != "" {
			u.setState(Off, c.Reason, nil)
		}
		s.units[c.Name] = u
	}
	return s, nil
}

// Prepare builds the controllers that can be built before the API server answers.
// Start does so if nobody has.
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
	if s.informers, err = newSharedInformers(s.cfg.Connect, s.resyncPeriod(), s.cfg.recorderFor(sharedInformersName)); err != nil {
		return err
	}
	s.buildOwnerGraph()
	for _, name := range s.startOrder() {
		if needAPIServer[name] {
			continue
		}
		if err := s.buildUnit(name); err != nil {
			return err
		}
	}
	return nil
}

// needAPIServer are the controllers whose constructors call the API server. Without the
// policy they are refused.
var needAPIServer = map[string]bool{
	names.KubeAPIServerClusterTrustBundlePublisherController: true,
	names.NamespaceController:                                true,
	names.NodeIpamController:                                 true,
	names.ResourceQuotaController:                            true,
}

// APIServer tells how far an API server is.
type APIServer interface {
	// WaitPolicy returns when it knows who may do what.
	WaitPolicy(context.Context) error
	// WaitServing returns when it knows all kinds, too.
	WaitServing(context.Context) error
}

// Start builds the controllers, and runs them when the API server does its work
// and their informers hold what it has. ctx bounds the start only.
func (s *Supervisor) Start(ctx context.Context, api APIServer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.started {
		return errors.New("controllers: already started or closed")
	}
	s.started = true
	if s.informers == nil {
		if err := s.prepare(); err != nil {
			return err
		}
	}
	if err := api.WaitPolicy(ctx); err != nil {
		return err
	}
	s.informers.newFacade(nil).StartWithContext(s.informers.ctx) // so far they are of built-in kinds only
	if err := api.WaitServing(ctx); err != nil {
		return err
	}
	for _, name := range s.startOrder() {
		if !needAPIServer[name] {
			continue
		}
		if err := s.buildUnit(name); err != nil {
			return err
		}
	}
	s.informers.start()
	if err := s.informers.waitForSync(ctx); err != nil {
		return err
	}
	for _, name := range s.startOrder() {
		s.units[name].start()
	}
	return nil
}

// startOrder lists the controllers that are to run: the one that makes tokens first,
// as upstream has it, the rest by name.
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

func (s *Supervisor) buildUnit(name string) error {
	u := s.units[name]
	f := s.informers.newFacade(u.recorder)
	if name == names.GarbageCollectorController {
		f = s.informers.graphFacade
	}
	look, err := NewObjectReader(s.ManagerConfig("step"))
	if err != nil {
		return fmt.Errorf("controller %s: %w", name, err)
	}
	component := s.config
	if to := u.scaled.Load(); to != nil {
		component = to.config
	}
	under := &handlerBarrier{}
	under.wrapInformers(f)
	controllerContext := app.ControllerContext{
		ClientBuilder:                   clientBuilder{s.cfg.Connect, u.recorder, u.replaceGate(look)},
		InformerFactory:                 f,
		ObjectOrMetadataInformerFactory: objectOrMetadata{f},
		ComponentConfig:                 *component,
		RESTMapper:                      s.informers.mapper,
		InformersStarted:                s.informers.started,
		ResyncPeriod:                    s.resyncPeriod,
		ControllerManagerMetrics:        s.informers.metrics,
		GraphBuilder:                    s.informers.graph,
	}
	return u.build(s.informers.ctx, f, under.wrapConstructor(s.constructorFor(name, controllerContext)))
}

// resyncPeriod spreads the controllers' resyncs over one to two periods.
func (s *Supervisor) resyncPeriod() time.Duration {
	return time.Duration(float64(s.config.Generic.MinResyncPeriod.Duration) * (1 + rand.Float64()))
}

// Statuses returns a copy of every controller's status, by name.
func (s *Supervisor) Statuses() []Status {
	var all []Status
	for _, name := range slices.Sorted(maps.Keys(s.units)) {
		all = append(all, s.units[name].status())
	}
	return all
}

// HealthChecks returns the checks of the controllers that are meant to run: ready has
// one for each, for /readyz, alive is one for all, for /livez and /healthz.
// Upstream spends some 0.1 ms of a start on each path that a check has.
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

// LeaderElection is how the lease is to be held that lets one of several
// processes run the controllers.
func (s *Supervisor) LeaderElection() componentbaseconfig.LeaderElectionConfiguration {
	return s.config.Generic.LeaderElection
}

// ManagerConfig returns a client configuration of the controller manager itself.
func (s *Supervisor) ManagerConfig(agent string) *rest.Config {
	return rest.AddUserAgent(s.cfg.Connect(managerUser()), agent)
}

// DebugPath is where ServeHTTP is to be mounted.
const DebugPath = "/debug/controllers"

// ServeHTTP serves the debugging endpoints of the controllers that have one,
// at DebugPath/NAME.
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

// Close stops the controllers, then their informers, and returns when all have ended.
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
	errs := make([]error, len(s.units))
	var wg sync.WaitGroup
	for i, u := range slices.Collect(maps.Values(s.units)) {
		wg.Go(func() { errs[i] = u.stop() })
	}
	wg.Wait()
	s.informers.close()
	return errors.Join(errs...)
}

// publishConfig shows the configuration at /configz, as upstream does.
func (s *Supervisor) publishConfig() error {
	external := &configv1alpha1.KubeControllerManagerConfiguration{}
	err := configv1alpha1conversion.Convert_config_KubeControllerManagerConfiguration_To_v1alpha1_KubeControllerManagerConfiguration(s.config, external, nil)
	if err != nil {
		return fmt.Errorf("controllers: configz: %w", err)
	}
	external.SetGroupVersionKind(configv1alpha1.SchemeGroupVersion.WithKind("KubeControllerManagerConfiguration"))
	entry, err := configz.New(app.ConfigzName)
	if err != nil {
		return fmt.Errorf("controllers: another set runs in this process: %w", err)
	}
	return entry.Set(external)
}
