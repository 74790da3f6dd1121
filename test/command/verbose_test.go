package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

const auditEverything = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n"

// adminClaim is in a namespace whose labels admission has to read.
const adminClaim = `
{apiVersion: v1, kind: Namespace, metadata: {name: devices, labels: {resource.kubernetes.io/admin-access: "true"}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: all, namespace: devices}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: d, adminAccess: true}}]}}
`

// TestUnusualAPIServer starts a control plane whose API server has a verbose log and an audit policy,
// and does not serve a kind that a controller needs.
func TestUnusualAPIServer(t *testing.T) {
	t.Parallel()
	folder, dir := t.TempDir(), t.TempDir()
	policy, claim, audit := filepath.Join(folder, "policy.yaml"), filepath.Join(folder, "claim.yaml"), filepath.Join(folder, "audit.log")
	testutil.WriteFile(t, policy, auditEverything)
	testutil.WriteFile(t, claim, adminClaim)
	p := program.Up(t, dir, "--nodes", "1", "--runtime-config", "autoscaling/v2=false", "-v", "4", "--kube-apiserver-arg", "audit-policy-file="+policy, "--kube-apiserver-arg", "audit-log-path="+audit)
	web := program.CreateWeb(t, p.Dir, 1)
	awaitReplicas(t, p, web, 1)
	t.Run("unserved kind", func(t *testing.T) { testUnservedKind(t, p, web) })
	t.Run("verbose log and audit policy", func(t *testing.T) { testVerboseLogAndAuditPolicy(t, p, web, claim, audit) })
	t.Run("unserved kind, after a restore", func(t *testing.T) { awaitReplicas(t, p, program.CreateWeb(t, p.Dir, 1), 1) })
}

// testUnservedKind checks that only the controller of that kind waits, also when the scheduler starts
// again.
func testUnservedKind(t *testing.T, p *program.ControlPlane, web string) {
	program.MustRun(t, p.Dir, "controllers", "stop", "scheduler")
	program.MustRun(t, p.Dir, "controllers", "start", "scheduler")
	scale := []byte(`{"spec":{"replicas":2}}`)
	if _, err := p.Client(t).AppsV1().Deployments("default").Patch(t.Context(), web, types.MergePatchType, scale, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitReplicas(t, p, web, 2)
	program.WaitSettled(t, p.Dir)
	const reason = "hpa waiting a kind that it needs cannot be listed: failed to list *v2.HorizontalPodAutoscaler: "
	if status := program.Status(t, p.Dir); !strings.Contains(strings.Join(strings.Fields(status), " "), reason) {
		t.Errorf("status does not say which controller waits:\n%s", status)
	}
	if list := program.MustRun(t, p.Dir, "controllers", "-o", "wide"); !strings.Contains(list, "waits: a kind that it needs cannot be listed: failed to list *v2.HorizontalPodAutoscaler: ") {
		t.Errorf("controllers does not say which one waits:\n%s", list)
	}
}

// awaitReplicas waits until a Deployment has as many ready replicas.
func awaitReplicas(t *testing.T, p *program.ControlPlane, deployment string, n int32) {
	t.Helper()
	client := p.Client(t)
	p.Await(t, "running the Deployment", func() bool {
		d, err := client.AppsV1().Deployments("default").Get(t.Context(), deployment, metav1.GetOptions{})
		return err == nil && d.Status.ReadyReplicas == n
	})
}

// With a verbose log and an audit policy, upstream keeps more in the context of each
// request. Requests that the handler of another request makes must not inherit it. It resets the control plane.
func testVerboseLogAndAuditPolicy(t *testing.T, p *program.ControlPlane, web, claim, audit string) {
	for _, args := range [][]string{
		{"nodes"}, {"nodes", "add", "1"}, {"kubectl", "apply", "-f", claim}, {"status"},
		{"trace", "deployment/" + web}, {"snapshot", "save", "base"}, {"reset"}, {"nodes"},
	} {
		out := program.MustRun(t, p.Dir, args...)
		if out == "" {
			t.Errorf("%v printed nothing", args)
		}
	}
	log, err := os.ReadFile(audit)
	if err != nil || !strings.Contains(string(log), `"resource":"resourceclaims"`) {
		t.Errorf("the audit log does not mention the claim (%d bytes), %v", len(log), err)
	}
}
