package ctrlplane

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers"
	"github.com/ctrlplane/ctrlplane/sim/cloud"
	"github.com/ctrlplane/ctrlplane/sim/metricsapi"
	"github.com/ctrlplane/ctrlplane/sim/nodes"
)

// kubeletName is whom the simulated kubelets' calls are put down to.
const kubeletName = "simulated-kubelet"

// fleet is the simulated nodes of a control plane, from when the first is asked
// for.
type fleet struct {
	plane *plane

	mu     sync.Mutex
	nodes  *nodes.Fleet // nil until it is needed
	closed bool
}

var _ control.Nodes = (*fleet)(nil)

func (p *plane) fleetConfig() nodes.Config {
	s := p.Server
	return nodes.Config{
		Count:      s.Nodes,
		CPU:        s.NodeCPU,
		Memory:     s.NodeMemory,
		Pods:       s.NodePods,
		Labels:     s.NodeLabels,
		Taints:     s.NodeTaints,
		Zones:      s.NodeZones,
		ProviderID: cloud.ProviderID,
		CheckPod:   metricsapi.Check,
		Stages:     s.Nodes > 0,
		Logger:     p.log.With("component", kubeletName),
		Connect: func(agent string) *rest.Config {
			// A kubelet may touch its own node only; this one is all of them.
			who := &user.DefaultInfo{Name: "system:" + kubeletName, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
			return controllers.Observed(rest.AddUserAgent(p.connect(who), agent), p.recorder(kubeletName))
		},
	}
}

// startNodes makes the nodes that the Server asks for.
func (p *plane) startNodes(ctx context.Context) error {
	if p.Server.Nodes == 0 {
		return nil
	}
	_, err := p.fleet.get(ctx)
	return err
}

// get returns the fleet, and starts it if nobody has asked for it yet.
func (f *fleet) get(ctx context.Context) (*nodes.Fleet, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errors.New("the control plane is stopping")
	}
	if f.nodes != nil {
		return f.nodes, nil
	}
	start := func() (err error) {
		f.nodes, err = nodes.Start(ctx, f.plane.fleetConfig())
		return err
	}
	by := f.plane.recorder(kubeletName)
	if by == nil {
		return f.nodes, start()
	}
	var err error
	by.Do(func() { err = start() })
	return f.nodes, err
}

func (f *fleet) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.nodes == nil {
		return nil
	}
	return f.nodes.Close()
}

// List implements control.Nodes.
func (f *fleet) List(ctx context.Context) ([]control.Node, error) {
	fleet, err := f.get(ctx)
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
func (f *fleet) Add(ctx context.Context, n int) ([]string, error) {
	fleet, err := f.get(ctx)
	if err != nil {
		return nil, err
	}
	return fleet.Add(ctx, n)
}

// Remove implements control.Nodes.
func (f *fleet) Remove(ctx context.Context, names ...string) error {
	fleet, err := f.get(ctx)
	if err != nil {
		return err
	}
	return fleet.Remove(ctx, names...)
}

// Terminate implements control.Nodes.
func (f *fleet) Terminate(ctx context.Context, names ...string) error {
	fleet, err := f.get(ctx)
	if err != nil {
		return err
	}
	return fleet.Terminate(ctx, names...)
}

// Fail implements control.Nodes.
func (f *fleet) Fail(ctx context.Context, names ...string) error {
	fleet, err := f.get(ctx)
	if err != nil {
		return err
	}
	return fleet.Fail(ctx, names...)
}

// Recover implements control.Nodes.
func (f *fleet) Recover(ctx context.Context, names ...string) error {
	fleet, err := f.get(ctx)
	if err != nil {
		return err
	}
	return fleet.Recover(ctx, names...)
}
