package command_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestNoMetricsFlag checks that the flag of each start decides whether metrics are served.
func TestNoMetricsFlag(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	for _, step := range []struct {
		flags  []string
		served bool
	}{{nil, true}, {[]string{"--no-metrics"}, false}, {nil, true}} {
		p := program.Up(t, dir, step.flags...)
		p.Await(t, "as it was asked for", func() bool {
			return strings.Contains(program.MustRun(t, dir, "kubectl", "api-versions"), "metrics.k8s.io/v1beta1") == step.served
		})
		p.Stop(t, syscall.SIGTERM)
	}
}
