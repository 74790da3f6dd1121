package command_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestUnservedKind starts a control plane that does not serve a kind that a controller needs: only
// this controller waits, also when the scheduler starts again and when a snapshot is restored.
func TestUnservedKind(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	program.Up(t, dir, "--nodes", "1", "--runtime-config", "autoscaling/v2=false")
	program.MustRun(t, dir, "kubectl", "create", "deployment", "web", "--image=nginx")
	program.MustRun(t, dir, "kubectl", "rollout", "status", "deployment/web", "--timeout=60s")
	program.MustRun(t, dir, "controllers", "stop", "scheduler")
	program.MustRun(t, dir, "controllers", "start", "scheduler")
	program.MustRun(t, dir, "kubectl", "scale", "deployment/web", "--replicas=2")
	program.MustRun(t, dir, "kubectl", "rollout", "status", "deployment/web", "--timeout=60s")
	program.MustRun(t, dir, "wait", "settled", "--timeout", "60s")
	const reason = "hpa waiting a kind that it needs cannot be listed: failed to list *v2.HorizontalPodAutoscaler: "
	if status := program.Status(t, dir); !strings.Contains(strings.Join(strings.Fields(status), " "), reason) {
		t.Errorf("status does not say which controller waits:\n%s", status)
	}
	program.MustRun(t, dir, "reset")
	program.MustRun(t, dir, "kubectl", "create", "deployment", "web", "--image=nginx")
	program.MustRun(t, dir, "kubectl", "rollout", "status", "deployment/web", "--timeout=60s")
}
