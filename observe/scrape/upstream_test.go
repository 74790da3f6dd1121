package scrape

import (
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// If upstream renames a metric, its numbers stay zero.
func TestMetricNamesMatchUpstream(t *testing.T) {
	source := testutil.UpstreamSource(t, "k8s.io/component-base", "metrics/prometheus/workqueue/metrics.go")
	for _, name := range []string{
		"depth", "adds_total", "retries_total", "queue_duration_seconds", "work_duration_seconds",
		"unfinished_work_seconds", "longest_running_processor_seconds",
	} {
		if !strings.Contains(source, `= "`+name+`"`) {
			t.Errorf("component-base has no metric %q", name)
		}
		s := readScrape([]*dto.MetricFamily{{Name: new("workqueue_" + name), Metric: []*dto.Metric{{}}}})
		if len(s.queues) != 1 {
			t.Errorf("workqueue_%s is not read", name)
		}
	}
	if !strings.Contains(source, `= "workqueue"`) {
		t.Error(`component-base has no subsystem "workqueue"`)
	}
}
