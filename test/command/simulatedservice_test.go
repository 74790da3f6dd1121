package command_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
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
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [secrets, configmaps], operations: [CREATE]}]
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
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.example.com}
spec:
  group: example.com
  names: {kind: Site, plural: sites}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: hook, namespace: default}}}
---
apiVersion: v1
kind: Pod
metadata: {name: hook, labels: {app: hook}}
spec: {containers: [{name: hook, image: hook}]}
`

// TestServicesOfSimulatedPodsAreNotDialled has webhooks and an aggregated API whose Service selects Pods: a connection to
// its address would leave the machine, also through a proxy.
func TestServicesOfSimulatedPodsAreNotDialled(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		t.Errorf("the proxy is asked: %s %s", req.Method, req.Host)
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(proxy.Close)
	u.env = append(slices.Clone(u.env), "HTTPS_PROXY="+proxy.URL)
	u.up(t, "default", "--nodes=1")
	file := filepath.Join(u.home, "install.yaml")
	if err := os.WriteFile(file, []byte(installManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	u.mustRun(t, "kubectl", "apply", "-f", file)
	u.mustRun(t, "wait", "pod/hook")
	const why = "Service default/hook leads to no program, because the programs of Pods do not run here: run the server on this machine, set the Service's type to ExternalName, and service.port in the configuration to the server's port"
	create := []string{"kubectl", "create", "secret", "generic", "s", "--request-timeout=10s"}
	if _, stderr, code := program.Run(t, u.command(t, create...)); code == 0 || !strings.Contains(stderr, why) {
		t.Errorf("the webhook: exit code %d: %s", code, stderr)
	}
	if _, stderr, code := program.Run(t, u.command(t, "kubectl", "create", "configmap", "c", "--request-timeout=10s")); code == 0 {
		t.Errorf("a ConfigMap was created: %s", stderr)
	}
	stdout, _ := u.mustRun(t, "why", "configmap/c") // the first sentence has room for the cause
	const short = `failed calling webhook "hook.example.com": Service default/hook leads to no program: run the server on this machine and set the Service's type to ExternalName.`
	if !strings.Contains(strings.Join(strings.Fields(stdout), " "), short) {
		t.Errorf("why: %s", stdout)
	}
	site := filepath.Join(u.home, "site.yaml")
	if err := os.WriteFile(site, []byte("{apiVersion: example.com/v1, kind: Site, metadata: {name: s}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := program.Run(t, u.command(t, "kubectl", "create", "-f", site)); code == 0 || !strings.Contains(stderr, why) {
		t.Errorf("the conversion webhook: exit code %d: %s", code, stderr)
	}
	const message = `{.status.conditions[?(@.type=="Available")].message}`
	u.mustRun(t, "kubectl", "wait", "apiservice/v1.shop.example.com", "--for=jsonpath={.status.conditions[0].reason}=FailedDiscoveryCheck", "--timeout=60s")
	if stdout, _ := u.mustRun(t, "kubectl", "get", "apiservice/v1.shop.example.com", "-o", "jsonpath="+message); !strings.Contains(stdout, why) {
		t.Errorf("the aggregated API: %s", stdout)
	}
}
