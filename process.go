package ctrlplane

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/controllers/queues"
	"github.com/ctrlplane/ctrlplane/controllers/queues/metrics"
)

// processClaimed reports whether a Server runs: Kubernetes' process-wide state serves one.
var processClaimed atomic.Bool

// claimProcess makes this Server the only one of the process. It returns a function
// that restores the process-wide state, which the package comment lists.
func claimProcess() (release func() error, err error) {
	if !processClaimed.CompareAndSwap(false, true) {
		return nil, ErrRunning
	}
	logging := klog.CaptureState()
	klog.SetLogger(logr.Discard()) // until the log is open: see setKlog
	restoreGates := captureFeatureGates(utilfeature.DefaultMutableFeatureGate)
	return func() error {
		err := errors.Join(restoreGates(), clearFeatureGateFlags(compatibility.DefaultComponentGlobalsRegistry))
		logging.Restore()
		processClaimed.Store(false)
		return err
	}, nil
}

// captureFeatureGates returns what restores the present state of feature gates.
func captureFeatureGates(gates featuregate.MutableVersionedFeatureGate) (restore func() error) {
	type state struct{ enabled, explicit bool }
	read := func(name featuregate.Feature) state { return state{gates.Enabled(name), gates.ExplicitlySet(name)} }
	before := map[featuregate.Feature]state{}
	for name := range gates.GetAll() {
		before[name] = read(name)
	}
	return func() error {
		var errs []error
		explicit := map[string]bool{}
		for name, was := range before {
			switch {
			case read(name) == was:
			case was.explicit:
				explicit[string(name)] = was.enabled
			default:
				errs = append(errs, gates.ResetFeatureValueToDefault(name))
			}
		}
		if len(explicit) > 0 { // last, because it applies AllAlpha and AllBeta again if they are set
			errs = append(errs, gates.SetFromMap(explicit))
		}
		return errors.Join(errs...)
	}
}

// clearFeatureGateFlags removes the values of --feature-gates that a registry keeps, and
// would apply again at the next start.
func clearFeatureGateFlags(registry basecompatibility.ComponentGlobalsRegistry) error {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	registry.AddFlags(flags)
	value, ok := flags.Lookup("feature-gates").Value.(*cliflag.ColonSeparatedMultimapStringString)
	if !ok {
		return fmt.Errorf("feature gates: the flag has the unexpected type %T, the next start applies its values again", flags.Lookup("feature-gates").Value)
	}
	clear(*value.Multimap)
	return nil
}

// registerQueueMetrics adds the workqueue_* metrics to the registry that /metrics
// serves, once per process. component-base registers them only for its own provider.
var registerQueueMetrics = sync.OnceFunc(func() {
	legacyregistry.RawMustRegister(metrics.Collector{Queues: queues.All()})
})

// setKlog sends to h what Kubernetes does not log through a context.
func setKlog(h slog.Handler, verbosity int) error {
	klog.SetLoggerWithOptions(logr.FromSlogHandler(h), klog.ContextualLogger(true))
	var level klog.Level
	return level.Set(strconv.Itoa(verbosity))
}
