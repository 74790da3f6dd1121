package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// With a verbose log and an audit policy, upstream keeps more in the context of each
// request. Requests that the handler of another request makes must not inherit it.
func TestVerboseLogAndAuditPolicy(t *testing.T) {
	t.Parallel()
	folder, dir := t.TempDir(), t.TempDir()
	policy, claim, audit := filepath.Join(folder, "policy.yaml"), filepath.Join(folder, "claim.yaml"), filepath.Join(folder, "audit.log")
	writeFile(t, policy, auditEverything)
	writeFile(t, claim, adminClaim)
	p := program.Up(t, dir, "-v", "4", "--kube-apiserver-arg", "audit-policy-file="+policy, "--kube-apiserver-arg", "audit-log-path="+audit)
	client := p.Client(t)
	web := program.CreateWeb(t, dir, 3)
	p.Await(t, "running the Deployment", func() bool {
		d, err := client.AppsV1().Deployments("default").Get(t.Context(), web, metav1.GetOptions{})
		return err == nil && d.Status.ReadyReplicas == 3
	})
	for _, args := range [][]string{
		{"nodes"}, {"nodes", "add", "2"}, {"kubectl", "apply", "-f", claim}, {"status"},
		{"trace", "deployment/" + web}, {"snapshot", "save", "base"}, {"reset"}, {"nodes"},
	} {
		out := program.MustRun(t, dir, args...)
		if out == "" {
			t.Errorf("%v printed nothing", args)
		}
	}
	log, err := os.ReadFile(audit)
	if err != nil || !strings.Contains(string(log), `"resource":"resourceclaims"`) {
		t.Errorf("the audit log does not mention the claim (%d bytes), %v", len(log), err)
	}
}
