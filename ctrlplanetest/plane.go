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

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Plane is a control plane that runs for tests.
type Plane struct {
	options Options
	running Running
	config  *rest.Config
	client  *kubernetes.Clientset
	dynamic *dynamic.DynamicClient
	health  *health.Waiter
	control *control.Client

	mu         sync.Mutex
	namespaces map[string]string // the latest of each test, by the test's name
	told       testing.TB        // whose failure was explained last
}

// Start starts a control plane that ends with the test. At most one Options may be
// given.
func Start(t testing.TB, opts ...Options) *Plane {
	t.Helper()
	o, err := one(opts)
	if err != nil {
		t.Fatalf("ctrlplanetest: %v", err)
	}
	p, err := open(t.Context(), o)
	if err != nil {
		t.Fatalf("ctrlplanetest: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() && !p.explained(t) {
			p.explain(t, "", 0)
		}
		if err := p.close(); err != nil {
			t.Errorf("ctrlplanetest: %v", err)
		}
	})
	return p
}

// open starts a control plane; somebody has to close it.
func open(ctx context.Context, o Options) (*Plane, error) {
	ctx, cancel := bounded(ctx, o.StartTimeout)
	defer cancel()
	running, err := o.Backend.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	p := &Plane{options: o, running: running, config: running.RESTConfig(), namespaces: map[string]string{}}
	if err := p.connect(); err != nil {
		_ = running.Close() // the first error is worth more
		return nil, err
	}
	return p, nil
}

func (p *Plane) connect() (err error) {
	if p.client, err = kubernetes.NewForConfig(p.config); err != nil {
		return err
	}
	silent := rest.CopyConfig(p.config)
	silent.WarningHandlerWithContext = rest.NoWarnings{} // it sees kinds that no test has asked for
	if p.dynamic, err = dynamic.NewForConfig(silent); err != nil {
		return err
	}
	if p.health, err = health.New(p.config); err != nil {
		return err
	}
	p.control, err = control.NewClient(p.config)
	return err
}

// close ends the control plane. That it had ended before is an error.
func (p *Plane) close() error {
	select {
	case <-p.running.Done():
		return p.ended()
	default:
		return p.running.Close()
	}
}

func (p *Plane) ended() error {
	return fmt.Errorf("the control plane has ended during the tests: %w", p.running.Err())
}

// RESTConfig returns the administrator's way in, without a client-side rate limit.
func (p *Plane) RESTConfig() *rest.Config { return rest.CopyConfig(p.config) }

// Client returns the administrator's client.
func (p *Plane) Client() kubernetes.Interface { return p.client }

// Kubeconfig is the administrator's kubeconfig, a file that goes with the control
// plane.
func (p *Plane) Kubeconfig() string { return filepath.Join(p.running.DataDir(), "kubeconfig") }

// Source tells all that is observed in the control plane.
func (p *Plane) Source() observe.Source { return p.control }
