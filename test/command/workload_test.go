package command_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

const budgetManifest = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
`

// TestKubectlRollout runs a rollout, a rollback and the maintenance of a node with
// kubectl: each command must end and print what it does on a real cluster.
func TestKubectlRollout(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := program.Up(t, dir, "--nodes", "2", "--node-zones", "2", "--observe-records=-1")
	path := filepath.Join(t.TempDir(), "budget.yaml")
	testutil.WriteFile(t, path, budgetManifest)
	for _, step := range []struct{ args, says string }{
		{"create deployment web --image=registry.invalid/web:1 --replicas=3", "created"},
		{"apply -f " + path, "poddisruptionbudget.policy/web created"},
		{"wait deployment/web --for=condition=Available --timeout=5m", "condition met"},
		{"wait pod -l app=web --for=condition=Ready --timeout=5m", "condition met"}, // before a rollout deletes some
		{"set image deployment/web web=registry.invalid/web:2", "image updated"},
		{"rollout status deployment/web --timeout=5m", "successfully rolled out"},
		{"rollout history deployment/web", "REVISION"},
		{"rollout undo deployment/web", "rolled back"},
		{"rollout status deployment/web --timeout=5m", "successfully rolled out"},
		{"get deployment web -o jsonpath={.spec.template.spec.containers[0].image}", "registry.invalid/web:1"},
		{"drain node-1 --timeout=5m", "node/node-1 drained"},
		{"get pods --field-selector=spec.nodeName=node-1 -o name", ""},
		{"get node node-1", "SchedulingDisabled"},
		{"uncordon node-1", "node/node-1 uncordoned"},
		{"scale deployment web --replicas=5", "scaled"},
		{"wait deployment/web --for=jsonpath={.status.readyReplicas}=5 --timeout=5m", "condition met"},
		{"create job once --image=registry.invalid/job", "created"},
		{"wait job/once --for=condition=Complete --timeout=5m", "condition met"},
		{"logs job/once", "the program of its image registry.invalid/job is not simulated"},
		{"top pods -l app=web", "web-"},
		{"delete deployment web --cascade=foreground --timeout=5m", "deleted"},
		{"wait pod -l app=web --for=delete --timeout=5m", ""},
	} {
		got := program.MustRun(t, dir, append([]string{"kubectl"}, strings.Fields(step.args)...)...)
		if !strings.Contains(got, step.says) || step.says == "" && got != "" {
			t.Errorf("kubectl %s: %q, want %q", step.args, got, step.says)
		}
	}
	t.Run("queues without records", func(t *testing.T) { requireQueueCounts(t, p) })

	// A drain beyond the budget times out and evicts no Pod.
	client, err := program.NewClient(p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	name := program.CreateWeb(t, dir, 1)
	testutil.WriteFile(t, path, strings.Replace(budgetManifest, "maxUnavailable: 1", "maxUnavailable: 0", 1))
	program.MustRun(t, dir, "kubectl", "apply", "-f", path)
	awaitReplicas(t, p, name, 1)
	pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("%d pods, %v", len(pods.Items), err)
	}
	p.AwaitFailure(t, 2*time.Second, []string{"kubectl", "drain", pods.Items[0].Spec.NodeName}, "disruption budget")
	if _, err := client.CoreV1().Pods("default").Get(t.Context(), pods.Items[0].Name, metav1.GetOptions{}); err != nil {
		t.Errorf("the pod that the budget protects: %v", err)
	}
}
