package command_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Metrics are served or not as each start on a folder says.
func TestNoMetricsFlag(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, step := range []struct {
		flags  []string
		served bool
	}{{nil, true}, {[]string{"--no-metrics"}, false}, {nil, true}} {
		p := startUp(t, dir, step.flags...)
		p.await(t, "as it was asked for", func() bool {
			return strings.Contains(mustRun(t, dir, "kubectl", "api-versions"), "metrics.k8s.io/v1beta1") == step.served
		})
		p.stop(t, syscall.SIGTERM)
	}
}
