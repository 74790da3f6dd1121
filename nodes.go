package ctrlplane

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/sim/cloud"
	"github.com/ctrlplane/ctrlplane/sim/metricsapi"
	"github.com/ctrlplane/ctrlplane/sim/nodes"
)

// kubeletName is whom the simulated kubelets' calls are put down to.
const kubeletName = "simulated-kubelet"

// nodeSimulation is the simulated nodes of a control plane, from when the first is asked
// for.
type nodeSimulation struct {
	owner *controlPlane

	mu      sync.Mutex
	running *nodes.Fleet // nil until it is needed
	closed  bool
}

var _ control.Nodes = (*nodeSimulation)(nil)

func (p *controlPlane) nodesConfig() nodes.Config {
	s := p.config
	return nodes.Config{
		Count:      s.Nodes,
		CPU:        s.NodeCPU,
		Memory:     s.NodeMemory,
		Pods:       s.NodePods,
		Labels:     s.NodeLabels,
		Taints:     s.NodeTaints,
		Zones:      s.NodeZones,
		ProviderID: cloud.ProviderID,
		CheckPod:   metricsapi.CheckAnnotations,
		Stages:     s.Nodes > 0,
		Logger:     p.log.With("component", kubeletName),
		Connect: func(agent string) *rest.Config {
			// A kubelet may touch its own node only; this one is all of them.
			who := &user.DefaultInfo{Name: "system:" + kubeletName, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
			return recording.ObserveCalls(rest.AddUserAgent(p.clientConfig(who), agent), p.recorder(kubeletName))
		},
	}
}

// startNodes makes the nodes that the Server asks for.
func (p *controlPlane) startNodes(ctx context.Context) error {
	if p.config.Nodes == 0 {
		return nil
	}
	_, err := p.nodes.ensureStarted(ctx)
	return err
}

// ensureStarted returns the fleet, and starts it if nobody has asked for it yet.
func (f *nodeSimulation) ensureStarted(ctx context.Context) (*nodes.Fleet, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errors.New("the control plane is stopping")
	}
	if f.running != nil {
		return f.running, nil
	}
	start := func() (err error) {
		f.running, err = nodes.Start(ctx, f.owner.nodesConfig())
		return err
	}
	by := f.owner.recorder(kubeletName)
	if by == nil {
		return f.running, start()
	}
	var err error
	by.Do(func() { err = start() })
	return f.running, err
}

func (f *nodeSimulation) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.running == nil {
		return nil
	}
	return f.running.Close()
}

// List implements control.Nodes.
func (f *nodeSimulation) List(ctx context.Context) ([]control.Node, error) {
	fleet, err := f.ensureStarted(ctx)
	if err != nil {
		return nil, err
	}
	list, err := fleet.List(ctx)
	var all []control.Node
	for _, n := range list {
		all = append(all, control.Node(n))
	}
	return all, err
}

// Add implements control.Nodes.
func (f *nodeSimulation) Add(ctx context.Context, n int) ([]string, error) {
	fleet, err := f.ensureStarted(ctx)
	if err != nil {
		return nil, err
	}
	return fleet.Add(ctx, n)
}

// Remove implements control.Nodes.
func (f *nodeSimulation) Remove(ctx context.Context, names ...string) error {
	fleet, err := f.ensureStarted(ctx)
	if err != nil {
		return err
	}
	return fleet.Remove(ctx, names...)
}

// Terminate implements control.Nodes.
func (f *nodeSimulation) Terminate(ctx context.Context, names ...string) error {
	fleet, err := f.ensureStarted(ctx)
	if err != nil {
		return err
	}
	return fleet.Terminate(ctx, names...)
}

// Fail implements control.Nodes.
func (f *nodeSimulation) Fail(ctx context.Context, names ...string) error {
	fleet, err := f.ensureStarted(ctx)
	if err != nil {
		return err
	}
	return fleet.Fail(ctx, names...)
}

// Recover implements control.Nodes.
func (f *nodeSimulation) Recover(ctx context.Context, names ...string) error {
	fleet, err := f.ensureStarted(ctx)
	if err != nil {
		return err
	}
	return fleet.Recover(ctx, names...)
}
