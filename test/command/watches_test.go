package command_test

import (
	"regexp"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// testPodsAreWatchedOnce checks that the API server, the controllers, the scheduler and the
// simulated kubelets watch the most frequent objects only once, all together.
func testPodsAreWatchedOnce(t *testing.T, p *program.ControlPlane) {
	for _, resource := range []string{"pods", "nodes"} {
		gauge := regexp.MustCompile(`(?m)^apiserver_longrunning_requests\{[^}]*resource="` + resource + `"[^}]*verb="WATCH"[^}]*\} (\d+)$`)
		p.Await(t, "watching "+resource+" once", func() bool { // one that is opened again counts twice for a moment
			metrics, err := p.Client(t).RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			watches := gauge.FindAllStringSubmatch(string(metrics), -1)
			return len(watches) == 1 && watches[0][1] == "1"
		})
	}
}
