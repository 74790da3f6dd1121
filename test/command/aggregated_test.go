package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// awayManifest has an aggregated API whose server does not run.
const awayManifest = `
apiVersion: v1
kind: Service
metadata: {name: api, namespace: default}
spec: {type: ExternalName, externalName: localhost}
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
  service: {name: api, namespace: default, port: 1}
`

// TestAggregatedServerIsAway asks about what needs an aggregated API server that does not run, and about what does not.
func TestAggregatedServerIsAway(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.up(t, "default", "--nodes=0")
	file := filepath.Join(u.home, "away.yaml")
	if err := os.WriteFile(file, []byte(awayManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	u.mustRun(t, "kubectl", "apply", "-f", file)
	u.mustRun(t, "kubectl", "wait", "apiservice/v1.shop.example.com", "--for=jsonpath={.status.conditions[0].reason}=FailedDiscoveryCheck", "--timeout=60s")
	const isAway, advice = "APIService v1.shop.example.com is not available: FailedDiscoveryCheck: ", "start its server, or delete the APIService"

	t.Run("the cause of what is deleted with a namespace", func(t *testing.T) {
		u.mustRun(t, "kubectl", "create", "namespace", "shop")
		u.mustRun(t, "kubectl", "create", "configmap", "a", "-n", "shop")
		u.mustRun(t, "kubectl", "delete", "namespace", "shop", "--wait=false")
		u.mustRun(t, "wait", "cm/a", "-n", "shop", "--for-deletion")
		stdout, _ := u.mustRun(t, "why", "cm/a", "-n", "shop", "--deleted")
		stdout = strings.Join(strings.Fields(stdout), " ") // it is wrapped
		requireText(t, stdout, "namespace-controller deleted every ConfigMap in shop likely because Namespace shop was marked as deleted", "It began when kubectl")
		stdout, _ = u.mustRun(t, "trace", "ns/shop")
		requireText(t, stdout, "deleted 2 ConfigMaps")
	})
	t.Run("a wait for an unknown kind", func(t *testing.T) {
		_, stderr, code := program.Run(t, u.command(t, "wait", "orders.shop.example.com/a", "--timeout=4s"))
		if requireText(t, stderr, "unknown kind orders.shop.example.com: timed out after 4s: an aggregated API may serve it: "+isAway, advice); code != 1 {
			t.Errorf("exit code %d: %s", code, stderr)
		}
		_, stderr, code = program.Run(t, u.command(t, "wait", "order/a", "--timeout=1m"))
		if requireText(t, stderr, "order/a: unknown kind order: correct the name or install its CustomResourceDefinition; an aggregated API may serve it: "+isAway, advice); code != 2 {
			t.Errorf("without the group: exit code %d: %s", code, stderr)
		}
	})
	t.Run("an object", func(t *testing.T) {
		order := filepath.Join(u.home, "order.yaml")
		if err := os.WriteFile(order, []byte(`{"apiVersion": "shop.example.com/v1", "kind": "Order", "metadata": {"name": "a", "namespace": "default"}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, stderr, code := program.Run(t, u.command(t, "kubectl", "replace", "--raw", "/apis/shop.example.com/v1/namespaces/default/orders/a", "-f", order)); code == 0 {
			t.Fatal(stderr)
		}
		stdout, _ := u.mustRun(t, "why", "orders.shop.example.com/a")
		stdout = strings.Join(strings.Fields(stdout), " ") // it is wrapped
		requireText(t, stdout, "503", "Its current state cannot be read: "+isAway, advice)
		if n := strings.Count(stdout, "Its current state"); n != 1 {
			t.Errorf("said %d times:\n%s", n, stdout)
		}
	})
}
