package command_test

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestRestartKeepsKubernetesVersion checks that a later start of the same cluster emulates
// the version of the last one, until another is named, and that --no-metrics is for one start.
func TestRestartKeepsKubernetesVersion(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	for _, step := range []struct{ flag, want, list string }{
		{"--kubernetes=1.35", "Kubernetes 1.35 (emulated by 1.37.1)", ""},
		{"--no-metrics", "Kubernetes 1.35 (emulated by 1.37.1)", "1.35 (emulated by 1.37.1)"},
		{"--kubernetes=1.37", "Kubernetes v1.37.1", ""},
		{"--nodes=0", "Kubernetes v1.37.1", "v1.37.1"},
	} {
		p := program.Up(t, dir, "--nodes=0", step.flag)
		p.Await(t, "serving metrics, or not", func() bool { return servesMetrics(t, p) == (step.flag != "--no-metrics") })
		if status := program.MustRun(t, dir, "status"); !strings.Contains(status, step.want) {
			t.Errorf("after %q: status %q, want %q", step.flag, status, step.want)
		}
		if step.list != "" {
			if list := program.MustRun(t, dir, "list", "-o", "wide"); !strings.Contains(list, step.list) {
				t.Errorf("after %q: list %q, want %q", step.flag, list, step.list)
			}
		}
		p.Stop(t, syscall.SIGTERM)
	}
	state := filepath.Join(dir, "state.json")
	text := testutil.ReadFile(t, state)
	old := strings.Replace(text, `"kubernetesVersion"`, `"emulatedVersion": "1.20", "kubernetesVersion"`, 1)
	testutil.WriteFile(t, state, old)
	program.RequireFailure(t, program.Command(t, "up", "--ui", "none", "--data-dir", dir), 1,
		"last started with Kubernetes 1.20, which this version of ctrlplane cannot emulate: choose 1.34, 1.35, 1.36 or 1.37 with --kubernetes")
}

// servesMetrics reports whether metrics.k8s.io is among the API groups.
func servesMetrics(t *testing.T, p *program.ControlPlane) bool {
	t.Helper()
	groups, err := p.Client(t).Discovery().ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == "metrics.k8s.io" })
}
