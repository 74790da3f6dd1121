package ctrlplane

import (
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
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
	restoreFeatures := captureFeatures(compatibility.DefaultComponentGlobalsRegistry, utilfeature.DefaultMutableFeatureGate)
	return func() error {
		err := restoreFeatures()
		logging.Restore()
		processClaimed.Store(false)
		return err
	}, nil
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
