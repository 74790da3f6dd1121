package ctrlplane

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/internal/useragent"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/sim/annotations"
	"github.com/ctrlplane/ctrlplane/sim/cloud"
	"github.com/ctrlplane/ctrlplane/sim/metricsapi"
	"github.com/ctrlplane/ctrlplane/sim/nodes"
)

// notControllers are what is observed like controllers, and what to use in place of an intervention in it.
var notControllers = map[string]string{
	controllernames.SimulatedKubelet: `"ctrlplane controllers speed" slows it down, "ctrlplane nodes fail" stops it on a node`,
	apiServerName:                    `"ctrlplane clients" lists the programs whose requests can be paused, delayed or failed`,
}

func (p *controlPlane) nodesConfig() nodes.Config {
	c, pace := p.config.Nodes, p.pace // client-go keeps WaitTurn, which must not keep p
	return nodes.Config{
		Count:          c.Count,
		CPU:            c.CPU,
		Memory:         c.Memory,
		Pods:           c.Pods,
		Labels:         c.Labels,
		Taints:         c.Taints,
		Zones:          c.Zones,
		ProviderID:     cloud.ProviderID,
		CheckPod:       metricsapi.CheckAnnotations,
		Commands:       p.commands,
		NotRun:         &p.notRun,
		Stages:         c.Count > 0,
		Recorder:       p.recorderFor(controllernames.SimulatedKubelet),
		WaitTurn:       func(ctx context.Context) { pace.WaitTurn(ctx, nil) },
		Logger:         p.log.With("component", controllernames.SimulatedKubelet),
		CompleteUpdate: recording.CompleteUpdate,
		Connect:        p.kubeletClientConfig,
		Informers:      p.informerLoan.Wait,
		Warn:           p.warn,
	}
}

func (p *controlPlane) checkNodes(context.Context) error { return p.nodesConfig().Check() }

func (p *controlPlane) kubeletClientConfig(agent string) *rest.Config {
	// A real kubelet may change its own node only; this one acts for all of them.
	who := &user.DefaultInfo{Name: "system:" + controllernames.SimulatedKubelet, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
	return recording.ObserveCalls(useragent.Set(p.controllerClientConfig(who), useragent.Kubelet, agent), p.recorderFor(controllernames.SimulatedKubelet))
}

// startNodes creates the nodes that the configuration asks for.
func (p *controlPlane) startNodes(ctx context.Context) error {
	if err := p.api.WaitServing(ctx); err != nil {
		return err
	}
	_, err := p.nodes.ensureStarted(ctx)
	return err
}

func (p *controlPlane) closeNodes() error { return p.nodes.close() }

// nodeSimulation is the simulated nodes of a control plane. It starts when the first
// node is needed: at the start, or when a client asks for one.
type nodeSimulation struct {
	config   nodes.Config
	recorder *observe.Recorder // nil = not recorded
	mayStart func() error      // says why the nodes are simulated in another process

	mu      sync.Mutex
	running *nodes.Fleet // nil until it has started, and while a restore suspends it
	closed  bool
}

var _ control.Nodes = (*nodeSimulation)(nil)

var errStopping = errors.New("the control plane is stopping")

// ensureStarted returns the nodes; it starts them if they have not been started.
func (s *nodeSimulation) ensureStarted(ctx context.Context) (*nodes.Fleet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errStopping
	}
	if s.running == nil {
		if err := s.mayStart(); err != nil {
			return nil, err
		}
		if err := s.start(ctx, s.config); err != nil {
			return nil, err
		}
	}
	return s.running, nil
}

// handlerForNodes returns what starts the simulation when there is a Node for it; nil if
// it starts anyway.
func (s *nodeSimulation) handlerForNodes(log *slog.Logger) func(*corev1.Node) {
	if s.config.Count > 0 {
		return nil
	}
	var started atomic.Bool // a restore may replace the informers while a call lasts
	return func(node *corev1.Node) {
		if started.Load() || !annotations.IsSimulated(node) {
			return
		}
		_, err := s.ensureStarted(context.Background())
		if err == nil {
			started.Store(true)
		} else if !errors.Is(err, errStopping) {
			log.Warn("cannot simulate a node: retrying when it changes", "node", node.Name, "err", err)
		}
	}
}

// start needs the lock.
func (s *nodeSimulation) start(ctx context.Context, config nodes.Config) (err error) {
	s.recorder.Do(func() {
		var started *nodes.Fleet
		if started, err = nodes.Start(ctx, config); err == nil {
			s.running = started
		}
	})
	return err
}

// suspend ends the simulation until resume, which must be called, and starts nothing if its
// context has ended. Until then all other calls wait.
func (s *nodeSimulation) suspend() (resume func(context.Context) error, err error) {
	s.mu.Lock()
	if s.closed {
		defer s.mu.Unlock()
		return nil, errStopping
	}
	if s.running == nil {
		return func(context.Context) error { s.mu.Unlock(); return nil }, nil
	}
	err = s.running.Close()
	s.running = nil
	resume = func(ctx context.Context) error {
		defer s.mu.Unlock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		existing := s.config
		existing.Count = 0 // simulates the nodes that were restored, and creates none
		return s.start(ctx, existing)
	}
	if err != nil {
		return nil, errors.Join(err, resume(context.Background()))
	}
	return resume, nil
}

func (s *nodeSimulation) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.running == nil {
		return nil
	}
	return s.running.Close()
}

// kubeletTimers returns what the simulated kubelets will do next; nothing while they start.
func (s *nodeSimulation) kubeletTimers() (timers []observe.Timer) {
	if !s.mu.TryLock() {
		return nil
	}
	defer s.mu.Unlock()
	if s.running == nil {
		return nil
	}
	for _, due := range s.running.NextDue() {
		timers = append(timers, observe.Timer{Controller: controllernames.SimulatedKubelet, What: due.What, Due: due.At, Reason: due.Reason, Awaited: due.Awaited})
	}
	return timers
}

// List implements control.Nodes.
func (s *nodeSimulation) List(ctx context.Context) ([]control.Node, error) {
	fleet, err := s.ensureStarted(ctx)
	if err != nil {
		return nil, err
	}
	return fleet.List(ctx)
}

// Add implements control.Nodes. If a restore ends the simulation meanwhile, the nodes are added after that.
func (s *nodeSimulation) Add(ctx context.Context, n int) (names []string, err error) {
	for {
		fleet, err := s.ensureStarted(ctx)
		if err != nil {
			return nil, err
		}
		if names, err = fleet.Add(ctx, n); !errors.Is(err, nodes.ErrClosed) {
			return names, err
		}
	}
}

// Remove implements control.Nodes.
func (s *nodeSimulation) Remove(ctx context.Context, names ...string) error {
	return s.changeNodes(ctx, (*nodes.Fleet).Remove, names)
}

// Terminate implements control.Nodes.
func (s *nodeSimulation) Terminate(ctx context.Context, names ...string) error {
	return s.changeNodes(ctx, (*nodes.Fleet).Terminate, names)
}

// Fail implements control.Nodes.
func (s *nodeSimulation) Fail(ctx context.Context, names ...string) error {
	return s.changeNodes(ctx, (*nodes.Fleet).Fail, names)
}

// Recover implements control.Nodes.
func (s *nodeSimulation) Recover(ctx context.Context, names ...string) error {
	return s.changeNodes(ctx, (*nodes.Fleet).Recover, names)
}

func (s *nodeSimulation) changeNodes(ctx context.Context, verb func(*nodes.Fleet, context.Context, ...string) error, names []string) error {
	fleet, err := s.ensureStarted(ctx)
	if err != nil {
		return err
	}
	return verb(fleet, ctx, names...)
}
