package command_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// The API server, the controllers, the scheduler and the simulated kubelets watch the most
// frequent objects only once, all together.
func TestPodsAreWatchedOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	program.Up(t, dir)
	metrics := program.MustRun(t, dir, "kubectl", "get", "--raw", "/metrics")
	for _, resource := range []string{"pods", "nodes"} {
		watches := regexp.MustCompile(`(?m)^apiserver_longrunning_requests\{[^}]*resource="`+resource+`"[^}]*verb="WATCH"[^}]*\} (\d+)$`).FindAllStringSubmatch(metrics, -1)
		if len(watches) != 1 || watches[0][1] != "1" {
			t.Errorf("watches of %s: %q, want one line that counts 1", resource, watches)
		}
	}
}
