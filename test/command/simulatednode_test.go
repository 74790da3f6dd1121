//go:build unix

package command_test

import (
	"path/filepath"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestNodeOfUserIsSimulatedWithoutOthers checks that a Node with kwok's annotation is
// simulated although the control plane was started without nodes, and one without it is not.
func TestNodeOfUserIsSimulatedWithoutOthers(t *testing.T) {
	t.Parallel()
	manifest := filepath.Join(t.TempDir(), "nodes.yaml")
	writeFile(t, manifest, `
apiVersion: v1
kind: Node
metadata: {name: real}
---
apiVersion: v1
kind: Node
metadata:
  name: simulated
  annotations: {kwok.x-k8s.io/node: fake}
---
apiVersion: v1
kind: Pod
metadata: {name: pod}
spec: {containers: [{name: main, image: none}]}
`)
	cmd := newRunCommand(t, "--nodes=0", "--", "sh", "-c", `
		"$0" kubectl apply -f "$1" >&2 &&
		"$0" kubectl wait --for=condition=Ready node/simulated pod/pod --timeout=60s >&2 &&
		"$0" kubectl get pod pod -o 'jsonpath={.spec.nodeName}' &&
		"$0" kubectl get node real -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'`, program.Path(), manifest)
	stdout, stderr, code := program.Run(t, cmd)
	if code != 0 || stdout != "simulated" {
		t.Errorf("exit code %d, stdout %q, want %q: %s", code, stdout, "simulated", stderr)
	}
}
