package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// installManifest is like what installs webhooks and aggregated APIs: their servers are Pods.
const installManifest = `
apiVersion: v1
kind: Service
metadata: {name: hook}
spec: {clusterIP: 10.96.77.77, selector: {app: hook}, ports: [{port: 443}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hook}
webhooks:
- name: hook.example.com
  clientConfig: {service: {name: hook, namespace: default}}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [secrets], operations: [CREATE]}]
  sideEffects: None
  admissionReviewVersions: [v1]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.shop.example.com}
spec:
  group: shop.example.com
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: hook, namespace: default}
---
apiVersion: v1
kind: Pod
metadata: {name: hook, labels: {app: hook}}
spec: {containers: [{name: hook, image: hook}]}
`

// TestServicesOfSimulatedPodsAreNotDialled has a webhook and an aggregated API whose Service selects Pods: a connection to
// its address would leave the machine.
func TestServicesOfSimulatedPodsAreNotDialled(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.up(t, "default", "--nodes=1")
	file := filepath.Join(u.home, "install.yaml")
	if err := os.WriteFile(file, []byte(installManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	u.mustRun(t, "kubectl", "apply", "-f", file)
	u.mustRun(t, "wait", "pod/hook")
	const why = "no program runs behind Service default/hook, because Pods are simulated"
	create := []string{"kubectl", "create", "secret", "generic", "s", "--request-timeout=10s"}
	if _, stderr, code := program.Run(t, u.command(t, create...)); code == 0 || !strings.Contains(stderr, why) {
		t.Errorf("the webhook: exit code %d: %s", code, stderr)
	}
	const message = `{.status.conditions[?(@.type=="Available")].message}`
	u.mustRun(t, "kubectl", "wait", "apiservice/v1.shop.example.com", "--for=jsonpath={.status.conditions[0].reason}=FailedDiscoveryCheck", "--timeout=60s")
	if stdout, _ := u.mustRun(t, "kubectl", "get", "apiservice/v1.shop.example.com", "-o", "jsonpath="+message); !strings.Contains(stdout, why) {
		t.Errorf("the aggregated API: %s", stdout)
	}
}
