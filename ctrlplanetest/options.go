package ctrlplanetest

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Options say what control plane there is to be. The zero value is the one that
// "ctrlplane up --ephemeral" starts.
type Options struct {
	// Nodes is how many simulated nodes there are; 0 = one, less = none.
	Nodes int
	// Manifests are files or folders of objects to apply before the first test,
	// CustomResourceDefinitions first.
	Manifests []string
	// Controllers selects controllers as upstream's --controllers does; nil = all
	// that kubeadm turns on.
	Controllers []string
	// NoScheduler leaves it to the test to say on which node a Pod runs.
	NoScheduler bool
	// FeatureGates and RuntimeConfig are upstream's flags of these names.
	FeatureGates, RuntimeConfig string
	// APIServerArgs, ControllerManagerArgs and SchedulerArgs are further upstream
	// flags, as name=value.
	APIServerArgs, ControllerManagerArgs, SchedulerArgs []string
	// Records is how many records of what happened are kept; 0 = 16384.
	Records int
	// LogFile is where all components log to; empty = a file that goes with the
	// control plane.
	LogFile string
	// StartTimeout is how long the start may take, and Timeout each wait of a
	// test; 0 = one minute.
	StartTimeout, Timeout time.Duration
	// Scheme knows the types of objects that tests wait for; nil = client-go's.
	Scheme *runtime.Scheme
	// Backend runs the control plane; nil = Binary{}.
	Backend Backend
}

// Backend is a way to run a control plane.
type Backend interface {
	// Start returns when the control plane is usable, or why it is not; then
	// nothing is left behind. ctx bounds the start only.
	Start(ctx context.Context, o Options) (Instance, error)
}

// Instance is a control plane that runs.
type Instance interface {
	// RESTConfig is the administrator's way in.
	RESTConfig() *rest.Config
	// DataDir is a folder with the file "kubeconfig" in it.
	DataDir() string
	// Done is closed when the control plane has ended; Err says why, if that was
	// by itself.
	Done() <-chan struct{}
	Err() error
	// Close ends it and returns when nothing is left of it. It is idempotent.
	Close() error
}

// singleOptions returns the only element, or the zero value.
func singleOptions(opts []Options) (Options, error) {
	var o Options
	switch len(opts) {
	case 0:
	case 1:
		o = opts[0]
	default:
		return o, fmt.Errorf("%d Options are given: put all that they say into one", len(opts))
	}
	for name, timeout := range map[string]*time.Duration{"StartTimeout": &o.StartTimeout, "Timeout": &o.Timeout} {
		if *timeout < 0 {
			return o, fmt.Errorf("Options.%s: %v is less than 0", name, *timeout)
		}
		*timeout = cmp.Or(*timeout, time.Minute)
	}
	if o.Scheme == nil {
		o.Scheme = scheme.Scheme
	}
	if o.Backend == nil {
		o.Backend = Binary{}
	}
	return o, nil
}
