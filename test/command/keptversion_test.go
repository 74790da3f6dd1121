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
	"github.com/ctrlplane/ctrlplane/internal/upstreamversion"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// TestRestartKeepsKubernetesVersion checks that a later start of the same cluster emulates
// the version of the last one, until another is named, and that --no-metrics is for one start.
func TestRestartKeepsKubernetesVersion(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	own, minors := upstreamversion.Kubernetes, upstreamversion.Minors()
	emulated := minors[1] + " (emulated by " + strings.TrimPrefix(own, "v") + ")"
	for _, step := range []struct{ flag, want, list string }{
		{"--kubernetes=" + minors[1], "Kubernetes " + emulated, ""},
		{"--no-metrics", "Kubernetes " + emulated, emulated},
		{"--kubernetes=" + minors[len(minors)-1], "Kubernetes " + own, ""},
		{"--nodes=0", "Kubernetes " + own, own},
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
		"last started with Kubernetes 1.20, which this version of ctrlplane cannot emulate: choose "+words.Or(minors)+" with --kubernetes")
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
