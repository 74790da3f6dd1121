package trace

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// If upstream changes the text, traces show failures twice.
func TestControllersLogErrorSyncing(t *testing.T) {
	for _, file := range []string{"deployment/deployment_controller.go", "statefulset/stateful_set.go", "job/job_controller.go"} {
		if source := testutil.UpstreamSource(t, "k8s.io/kubernetes", "pkg/controller/"+file); !strings.Contains(source, errorSyncing) {
			t.Errorf("%s does not contain %q", file, errorSyncing)
		}
	}
}
