// Package inprocess runs the control plane of ctrlplanetest in the test's own
// process. It needs no installed program but links the Kubernetes server into the
// test; docs/testing.md says what that costs. If the process is killed or panics, the next
// control plane removes its temporary folder.
//
// A process has one control plane at a time: in a package, use Shared or Start, not both, and Start in
// tests that are not parallel. Package ctrlplane lists what a control plane changes in the process,
// such as the output of klog, the metrics providers of client-go, feature gates and GOGC.
//
// The race detector also finds races of upstream, which fail the test. Suppress them:
//
//	GORACE="suppressions=$(go list -m -f '{{.Dir}}' github.com/ctrlplane/ctrlplane)/.ci/race.supp" go test -race ./...
//
//	func TestMain(m *testing.M) {
//		ctrlplanetest.Main(m, ctrlplanetest.Options{Backend: inprocess.Backend{}})
//	}
package inprocess

import (
	"context"
	"errors"
	"fmt"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/ctrlplanetest"
)

// Backend runs a control plane in this process.
type Backend struct {
	// Configure, if not nil, may change the Server before it starts.
	Configure func(*ctrlplane.Server)
}

// Start implements ctrlplanetest.Backend.
func (b Backend) Start(ctx context.Context, o ctrlplanetest.Options) (ctrlplanetest.Instance, error) {
	s := &ctrlplane.Server{
		Name:       "test",
		Private:    true,
		Manifests:  o.Manifests,
		Kubernetes: o.Kubernetes,
		APIServer: ctrlplane.APIServerConfig{
			FeatureGates:  o.FeatureGates,
			RuntimeConfig: o.RuntimeConfig,
			Args:          o.APIServerArgs,
		},
		Controllers: ctrlplane.ControllersConfig{Select: o.Controllers, Args: o.ControllerManagerArgs},
		Scheduler:   ctrlplane.SchedulerConfig{Disabled: o.NoScheduler, Args: o.SchedulerArgs},
		Nodes:       ctrlplane.NodesConfig{Count: max(o.Nodes, 0)},
		Observe:     ctrlplane.ObserveConfig{Records: o.Records, ExcludeStart: o.ExcludeStart},
		Log:         &ctrlplane.LogConfig{Path: o.LogFile},
	}
	if o.Nodes == 0 {
		s.Nodes.Count = 1
	}
	if b.Configure != nil {
		b.Configure(s)
	}
	started := surviveInterruption(s)
	err := s.Start(ctx)
	started(err)
	if errors.Is(err, ctrlplane.ErrRunning) {
		err = fmt.Errorf("%w: %w", err, ctrlplanetest.ErrBusy)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}
