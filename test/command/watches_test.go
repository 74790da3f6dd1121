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
	p := program.Up(t, dir)
	for _, resource := range []string{"pods", "nodes"} {
		gauge := regexp.MustCompile(`(?m)^apiserver_longrunning_requests\{[^}]*resource="` + resource + `"[^}]*verb="WATCH"[^}]*\} (\d+)$`)
		p.Await(t, "watching "+resource+" once", func() bool { // one that is opened again counts twice for a moment
			watches := gauge.FindAllStringSubmatch(program.MustRun(t, dir, "kubectl", "get", "--raw", "/metrics"), -1)
			return len(watches) == 1 && watches[0][1] == "1"
		})
	}
}
