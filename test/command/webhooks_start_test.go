package command_test

import (
	"bytes"
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

// A webhook that is down refuses every write, as when its operator is not running. A
// start needs none of them, and the nodes exist once the webhook is gone.
func TestStartWithDeadWebhook(t *testing.T) {
	t.Parallel()
	dead := admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/review")}
	testStartWithWebhook(t, dead)
}

func TestStartWithHangingWebhook(t *testing.T) {
	t.Parallel()
	testStartWithWebhook(t, startHangingWebhook(t).WebhookClientConfig)
}

func testStartWithWebhook(t *testing.T, how admissionregistrationv1.WebhookClientConfig) {
	dir := filepath.Join(t.TempDir(), "data")
	first := program.Up(t, dir, "--nodes", "1")
	if err := first.Client(t).RbacV1().ClusterRoles().Delete(t.Context(), "edit", metav1.DeleteOptions{}); err != nil { // so that a start has something to write
		t.Fatal(err)
	}
	createWebhook(t, first.Client(t), "refuse", admissionregistrationv1.Fail, how, 2, "*", "*/*")
	first.Stop(t, syscall.SIGTERM)
	if code := first.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("the first run exited with %d: %s", code, first.Stderr)
	}

	state := filepath.Join(dir, "state.json")
	before := testutil.ReadFile(t, state)
	cmd := program.Command(t, "up", "--ui", "plain", "--data-dir", dir, "--nodes", "2")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	second := program.Start(t, cmd, dir)
	second.Await(t, "started", func() bool {
		now, err := os.ReadFile(state)
		return err == nil && bytes.Contains(now, []byte(`"server"`)) && string(now) != before
	})
	client := second.Client(t)
	if _, err := client.RbacV1().ClusterRoles().Get(t.Context(), "edit", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	program.MustRun(t, dir, "kubectl", "delete", "validatingwebhookconfiguration", "refuse")
	second.Await(t, "simulating the second node", func() bool {
		node, err := client.CoreV1().Nodes().Get(t.Context(), "node-2", metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
	})
	second.Stop(t, syscall.SIGTERM)
	if code := second.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the second run exited with %d: %s", code, second.Stderr)
	}
	var warnings []string
	for line := range strings.Lines(program.WithoutSlowStart(stdout.String() + second.Stderr.String())) {
		if strings.HasPrefix(line, "warning:") {
			warnings = append(warnings, line)
		}
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], `failed calling webhook "refuse.example.com"`) || !strings.Contains(warnings[0], "kubectl delete validatingwebhookconfiguration refuse") {
		t.Errorf("the warnings are %q", warnings)
	}
}
