package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// A webhook that is down refuses every write, as when its operator is not running, and so does one that
// hangs. A start needs none of them, and the nodes exist once the webhook is gone.
func TestStartWithBrokenWebhooks(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	up := func(nodes int) *outputFollower {
		t.Helper()
		return startFollower(t, dir, "up", "--ui", "plain", "--data-dir", dir, "--nodes", fmt.Sprint(nodes))
	}
	p := up(1)
	p.AwaitReady(t)
	dead := admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/review")}
	for i, how := range []admissionregistrationv1.WebhookClientConfig{dead, startHangingWebhook(t).WebhookClientConfig} {
		before := stopWithWebhook(t, p, how)
		if i > 0 { // it started with a webhook
			requireOneWarning(t, p.out.String()+p.Stderr.String())
		}
		p = up(2 + i)
		p.Await(t, "started", func() bool {
			now, err := os.ReadFile(filepath.Join(dir, "state.json"))
			return err == nil && strings.Contains(string(now), `"server"`) && string(now) != before
		})
		client := p.Client(t)
		if _, err := client.RbacV1().ClusterRoles().Get(t.Context(), "edit", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		program.MustRun(t, dir, "kubectl", "delete", "validatingwebhookconfiguration", "refuse")
		p.Await(t, "simulating the added node", func() bool {
			node, err := client.CoreV1().Nodes().Get(t.Context(), fmt.Sprintf("node-%d", 2+i), metav1.GetOptions{})
			return err == nil && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			})
		})
	}
	p.Stop(t, syscall.SIGTERM)
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the last run exited with %d: %s", code, p.Stderr)
	}
	requireOneWarning(t, p.out.String()+p.Stderr.String())
}

// stopWithWebhook creates a webhook that refuses every write, and stops the control plane. It returns
// the state file.
func stopWithWebhook(t *testing.T, p *outputFollower, how admissionregistrationv1.WebhookClientConfig) string {
	t.Helper()
	if err := p.Client(t).RbacV1().ClusterRoles().Delete(t.Context(), "edit", metav1.DeleteOptions{}); err != nil { // so that a start has something to write
		t.Fatal(err)
	}
	createWebhook(t, p.Client(t), "refuse", admissionregistrationv1.Fail, how, 2, "*", "*/*")
	p.Stop(t, syscall.SIGTERM)
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("exited with %d: %s", code, p.Stderr)
	}
	return testutil.ReadFile(t, filepath.Join(p.Dir, "state.json"))
}

// requireOneWarning checks that the only warning of a start names the webhook, and how to remove it.
func requireOneWarning(t *testing.T, printed string) {
	t.Helper()
	var warnings []string
	for line := range strings.Lines(program.WithoutSlowStart(printed)) {
		if strings.HasPrefix(line, "warning:") {
			warnings = append(warnings, line)
		}
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], `failed calling webhook "refuse.example.com"`) || !strings.Contains(warnings[0], "kubectl delete validatingwebhookconfiguration refuse") {
		t.Errorf("the warnings are %q", warnings)
	}
}
