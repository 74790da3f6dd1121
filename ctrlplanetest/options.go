package ctrlplanetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Options configure a control plane. The zero value is the control plane that
// "ctrlplane up --ephemeral" starts.
type Options struct {
	// Nodes is the number of simulated nodes; 0 = one, negative = none.
	Nodes int
	// Manifests are files or folders of objects to apply before the first test. Their
	// CustomResourceDefinitions are applied first. Subfolders are not read: those of kubebuilder
	// are in config/crd/bases.
	Manifests []string
	// Controllers selects controllers like upstream's --controllers; nil = the default
	// of kubeadm. An empty list is refused.
	Controllers []string
	// NoScheduler starts no scheduler: the test assigns Pods to nodes.
	NoScheduler bool
	// Kubernetes is the minor version of Kubernetes to emulate, as 1.35; empty = that
	// of the program.
	Kubernetes string
	// FeatureGates and RuntimeConfig are the values of upstream's flags of these names.
	FeatureGates, RuntimeConfig string
	// APIServerArgs, ControllerManagerArgs and SchedulerArgs are more upstream flags,
	// as name=value.
	APIServerArgs, ControllerManagerArgs, SchedulerArgs []string
	// ExcludeStart is for tests that limit conflicts or failed syncs with Assert: the start of
	// the control plane itself, which may have some, does not count. It lets the start take most of
	// a second longer, until that work has settled, before Manifests are applied.
	ExcludeStart bool
	// Records is how many records are kept; 0 = 16384. A negative number is refused: waits and
	// assertions need them.
	Records int
	// LogFile is the log file of all components; empty = a file that is removed with
	// the control plane.
	LogFile string
	// StartTimeout bounds the start, Timeout each wait of a test; 0 = one minute.
	StartTimeout, Timeout time.Duration
	// Scheme has the types of objects that tests wait for; nil = client-go's scheme.
	Scheme *runtime.Scheme
	// Backend runs the control plane; nil = Binary{}.
	Backend Backend
}

// Backend is a way to run control planes.
type Backend interface {
	// Start returns when the control plane is usable. After an error nothing is
	// left behind. ctx bounds only the start. The error wraps ErrBusy if the backend
	// can run one control plane at a time, and runs one.
	Start(ctx context.Context, o Options) (Instance, error)
}

// ErrBusy is in the error of a start while the process of the tests has another control plane, with a
// backend that can run one at a time.
var ErrBusy = errors.New("a process has one control plane at a time: use Shared, or Start in tests that are not parallel")

// Instance is a running control plane.
type Instance interface {
	// RESTConfig returns the administrator's configuration.
	RESTConfig() *rest.Config
	// DataDir returns a folder that contains the file "kubeconfig".
	DataDir() string
	// Done is closed when the control plane has ended. Err then returns why, unless
	// Close ended it.
	Done() <-chan struct{}
	Err() error
	// Close stops it and returns when nothing of it is left. It is idempotent.
	Close() error
}

// singleOptions returns the only element of opts with its defaults set.
func singleOptions(opts []Options) (Options, error) {
	var o Options
	switch len(opts) {
	case 0:
	case 1:
		o = opts[0]
	default:
		return o, fmt.Errorf("%d Options given: pass at most one", len(opts))
	}
	for name, timeout := range map[string]*time.Duration{"StartTimeout": &o.StartTimeout, "Timeout": &o.Timeout} {
		if *timeout < 0 {
			return o, fmt.Errorf("Options.%s: %v is negative", name, *timeout)
		}
		*timeout = cmp.Or(*timeout, time.Minute)
	}
	if o.Records < 0 {
		return o, fmt.Errorf("Options.Records: %d is negative", o.Records)
	}
	if o.Controllers != nil && len(o.Controllers) == 0 {
		return o, errors.New("Options.Controllers: the list is empty: name controllers, or leave it nil for the default")
	}
	if o.Scheme == nil {
		o.Scheme = scheme.Scheme
	}
	if o.Backend == nil {
		o.Backend = Binary{}
	}
	return o, nil
}
