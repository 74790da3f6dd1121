//go:build unix

package command_test

import (
	"path/filepath"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// simulatedNodeScript creates the Nodes and the Pod, and prints where the Pod runs.
const simulatedNodeScript = `
		"$0" kubectl apply -f "$1" >&2 &&
		"$0" kubectl wait --for=condition=Ready node/simulated pod/pod --timeout=5m >&2 &&
		"$0" kubectl get pod/pod node/real -o 'jsonpath={.items[0].spec.nodeName}{.items[1].status.conditions[?(@.type=="Ready")].status}'`

// TestNodeOfUserIsSimulatedWithoutOthers checks that a Node with kwok's annotation is simulated
// although the control plane was started without nodes, and one without it is not: also after a
// restore that has removed the Node and a CustomResourceDefinition, for which the informers are recreated.
func TestNodeOfUserIsSimulatedWithoutOthers(t *testing.T) {
	t.Parallel()
	crd := filepath.Join(t.TempDir(), "crd.yaml")
	testutil.WriteFile(t, crd, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.example.com}
spec:
  group: example.com
  names: {kind: Site, plural: sites}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`)
	script := `
		"$0" snapshot save before >&2 &&
		"$0" kubectl apply -f "$2" >&2 &&
` + simulatedNodeScript + ` && echo &&
		"$0" snapshot restore before >&2 &&` + simulatedNodeScript
	cmd := newRunCommand(t, "--nodes=0", "--", "sh", "-c", script, program.Path(), writeNodeManifest(t), crd)
	stdout, stderr, code := program.Run(t, cmd)
	if want := "simulated\nsimulated"; code != 0 || stdout != want {
		t.Errorf("exit code %d, stdout %q, want %q: %s", code, stdout, want, stderr)
	}
}

func writeNodeManifest(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "nodes.yaml")
	testutil.WriteFile(t, path, `
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
	return path
}
