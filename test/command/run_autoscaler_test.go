//go:build unix

package command_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestRunSettleWaitsForAutoscalers has autoscalers whose controller syncs them before their Pods run, and again after 15 s: one
// that finds metrics then, and one whose Pods request no CPU.
func TestRunSettleWaitsForAutoscalers(t *testing.T) {
	t.Parallel()
	runScript := func(t *testing.T, script, resources string, flags ...string) (stderr string, code int) {
		t.Helper()
		cmd := newRunCommand(t, append(flags, "--settle", "--healthy", "-f", "web.yaml", "--", "sh", "-c", script)...)
		testutil.WriteFile(t, filepath.Join(cmd.Dir, "web.yaml"), strings.ReplaceAll(`
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {minReplicas: 2, maxReplicas: 5,
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web},
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx, resources: RESOURCES}]}}}}
`, "RESOURCES", resources))
		_, stderr, code = program.Run(t, cmd)
		return stderr, code
	}
	run := func(t *testing.T, resources string, flags ...string) (stderr string, code int) {
		t.Helper()
		return runScript(t, "true", resources, flags...)
	}
	t.Run("finds metrics", func(t *testing.T) {
		t.Parallel()
		if stderr, code := run(t, "{requests: {cpu: 100m}}", longTimeout); code != 0 {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	})
	t.Run("no requests", func(t *testing.T) {
		t.Parallel()
		stderr, code := run(t, "{}", longTimeout)
		if code != 123 {
			t.Errorf("exit code %d", code)
		}
		requireText(t, stderr, "HorizontalPodAutoscaler default/web: InProgress: FailedGetResourceMetric: ", "missing request for cpu in container web")
	})
	t.Run("too little time", func(t *testing.T) {
		t.Parallel()
		stderr, code := run(t, "{requests: {cpu: 100m}}", "--timeout", "20s", "--kube-controller-manager-arg", "horizontal-pod-autoscaler-sync-period=10m")
		if code != 123 {
			t.Errorf("exit code %d", code)
		}
		requireText(t, stderr, "settled, but horizontal-pod-autoscaler-controller has not synced HorizontalPodAutoscaler default/web since then: allow more time than its sync period with --timeout\n")
	})
	t.Run("work is held meanwhile", func(t *testing.T) {
		t.Parallel()
		self := program.Path()
		script := fmt.Sprintf("(%s wait settled && %s controllers pause deployment && %s kubectl scale deployment web --replicas 3) >out 2>&1 &", self, self, self)
		stderr, code := runScript(t, script, "{requests: {cpu: 100m}}", "--timeout", "20s", "--kube-controller-manager-arg", "horizontal-pod-autoscaler-sync-period=10m")
		if code != 124 {
			t.Errorf("exit code %d", code)
		}
		requireText(t, stderr, "not settled: deployment-controller (paused)")
	})
	t.Run("the API is off", func(t *testing.T) {
		t.Parallel()
		cmd := newRunCommand(t, longTimeout, "--settle", "--runtime-config=autoscaling/v1=false,autoscaling/v2=false", "--", "true")
		if _, stderr, code := program.Run(t, cmd); code != 0 {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	})
}
