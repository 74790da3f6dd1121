package metrics_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/util/workqueue"

	"github.com/ctrlplane/ctrlplane/controllers/queues"
	"github.com/ctrlplane/ctrlplane/controllers/queues/metrics"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// testdata/upstream.txt is the output of component-base's own provider at v0.37.1
// for a rate limiting queue "web" after Add("a") and Add("b"): the lines of the
// legacyregistry's handler that contain "workqueue".
func TestMetricsMatchUpstream(t *testing.T) {
	want := testutil.ReadFile(t, "testdata/upstream.txt")
	all := observe.NewQueues()
	q := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "web", MetricsProvider: queues.Provider{Queues: all}})
	defer q.ShutDown()
	q.Add("a")
	q.Add("b")
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.Collector{Queues: all})
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if diff := cmp.Diff(strings.ReplaceAll(want, "\r\n", "\n"), w.Body.String()); diff != "" {
		t.Errorf("-upstream +ours:\n%s", diff)
	}
}
