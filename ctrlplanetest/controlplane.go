package ctrlplanetest

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/useragent"
	"github.com/ctrlplane/ctrlplane/observe"
)

// ControlPlane is a running control plane for tests.
type ControlPlane struct {
	options Options
	running Instance
	config  *rest.Config // for the test: its clients, and those of the operator under test
	own     *rest.Config // the same for the clients of this package
	client  *kubernetes.Clientset
	dynamic *dynamic.DynamicClient
	health  *health.Waiter
	control *controlrest.Client

	mu            sync.Mutex
	namespaces    map[string]string // the latest namespace of each test, by the test's name
	explainedTest testing.TB        // the test whose failure was explained last
}

// Start starts a control plane and stops it when the test ends. It takes at most
// one Options.
func Start(t testing.TB, opts ...Options) *ControlPlane {
	t.Helper()
	o, err := singleOptions(opts)
	if err != nil {
		t.Fatalf("ctrlplanetest: %v", err)
	}
	p, err := startControlPlane(t.Context(), o)
	if err != nil {
		t.Fatalf("ctrlplanetest: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() && !p.wasExplained(t) {
			p.explainFailure(t, "", 0)
		}
		if err := p.close(); err != nil {
			t.Errorf("ctrlplanetest: %v", err)
		}
	})
	return p
}

// startControlPlane starts a control plane. The caller closes it.
func startControlPlane(ctx context.Context, o Options) (*ControlPlane, error) {
	ctx, cancel := withTimeout(ctx, o.StartTimeout)
	defer cancel()
	running, err := o.Backend.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	p := &ControlPlane{options: o, running: running, config: running.RESTConfig(), namespaces: map[string]string{}}
	if err := p.createClients(); err != nil {
		_ = running.Close() // the first error matters more
		return nil, err
	}
	return p, nil
}

// userAgent names the clients of this package. Those that a test makes have the name of the test
// binary: interventions in it, and limits for it, must not apply to what this package does.
const userAgent = "ctrlplanetest"

func (p *ControlPlane) createClients() (err error) {
	p.own = rest.CopyConfig(p.config)
	p.own.UserAgent = useragent.Of(userAgent)
	if p.client, err = kubernetes.NewForConfig(p.own); err != nil {
		return err
	}
	silent := rest.CopyConfig(p.own)
	silent.WarningHandlerWithContext = rest.NoWarnings{} // it also lists deprecated kinds, which no test asked for
	if p.dynamic, err = dynamic.NewForConfig(silent); err != nil {
		return err
	}
	if p.control, err = controlrest.NewClient(p.own); err != nil {
		return err
	}
	waiter, err := health.New(p.own)
	if err != nil {
		return err
	}
	p.health = waiter.WithRecords(p.control)
	return nil
}

// close stops the control plane. It returns an error if it has already ended.
func (p *ControlPlane) close() error {
	select {
	case <-p.running.Done():
		return p.endedError()
	default:
		return p.running.Close()
	}
}

func (p *ControlPlane) endedError() error {
	return fmt.Errorf("the control plane exited during the tests: %w", p.running.Err())
}

// RESTConfig returns the administrator's configuration, without a client-side rate limit.
//
// Clients that are made from it are one client of the control plane, with the name of the test
// binary. For an operator that runs in the test, set UserAgent to its name: then interventions in it
// and limits for it (Assert) do not apply to the clients of the test.
func (p *ControlPlane) RESTConfig() *rest.Config { return rest.CopyConfig(p.config) }

// Client returns the administrator's client. The control plane knows it, and all else that this
// package does, as the client "ctrlplanetest".
func (p *ControlPlane) Client() kubernetes.Interface { return p.client }

// Kubeconfig returns the path of the administrator's kubeconfig. The file is
// removed with the control plane.
func (p *ControlPlane) Kubeconfig() string { return filepath.Join(p.running.DataDir(), "kubeconfig") }

// Control returns the client of ctrlplane's own API, with which a test intervenes: it pauses
// controllers and the operator under test, makes their calls fail, or lets a node fail. What it
// changes stays until the test changes it back; Isolate ends interventions.
func (p *ControlPlane) Control() *controlrest.Client { return p.control }

// Source returns the source of everything that is observed in the control plane.
func (p *ControlPlane) Source() observe.Source { return p.control }
