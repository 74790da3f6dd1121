package ctrlplane

import (
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/controllers/queues"
	"github.com/ctrlplane/ctrlplane/controllers/queues/metrics"
)

// processClaimed tells whether a Server runs: upstream's process-wide state serves one.
var processClaimed atomic.Bool

// claimProcess sets what upstream keeps once per process, each with its reason,
// and returns what puts it back. Nothing else of ours sets such state, except
// what must be: the feature gates and /configz by apiserver and controllers,
// the size of log segments by etcd.
func claimProcess() (release func() error, err error) {
	if !processClaimed.CompareAndSwap(false, true) {
		return nil, ErrRunning
	}
	logging := klog.CaptureState()
	klog.SetLogger(logr.Discard()) // until there is a log: setKlog
	// The API server warns even its own controllers of deprecated APIs.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	return func() error {
		logging.Restore()
		processClaimed.Store(false)
		return nil
	}, nil
}

// registerQueueMetrics puts the workqueue_* metrics into the registry that
// /metrics serves, once per process. component-base would put its own there,
// but only if it provided them.
var registerQueueMetrics = sync.OnceFunc(func() {
	legacyregistry.RawMustRegister(metrics.Collector{Queues: queues.All()})
})

// setKlog sends to h what upstream does not log through a context.
func setKlog(h slog.Handler, verbosity int) error {
	klog.SetLoggerWithOptions(logr.FromSlogHandler(h), klog.ContextualLogger(true))
	var level klog.Level
	return level.Set(strconv.Itoa(verbosity))
}
