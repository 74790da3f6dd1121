//go:build unix

package command_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

const (
	clusterPolicyDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusterpols.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: ClusterPol, plural: clusterpols}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`
	// heldManifest has Namespaces whose deletion waits for their own finalizer, and for a ConfigMap.
	heldManifest = `
apiVersion: example.com/v1
kind: ClusterPol
metadata: {name: broken}
status: {conditions: [{type: Ready, status: "False", reason: Bad, message: rule does not compile}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: held, finalizers: [a.b/c]}
---
apiVersion: v1
kind: Namespace
metadata: {name: full}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, namespace: full, finalizers: [a.b/c]}
`
	holdScript = `"$0" kubectl create -f held.yaml && "$0" kubectl delete ns held full --wait=false`
)

// TestRunHealthyClusterScoped has cluster-scoped objects of the command: all outputs judge them alike, and those of the
// control plane itself do not count.
func TestRunHealthyClusterScoped(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, "--settle", longTimeout, "--healthy", "--report", "out", "--nodes=1", "--no-scheduler", "--controllers=namespace", "-f", "crd.yaml", "--", "sh", "-c", holdScript, program.Path())
	testutil.WriteFiles(t, cmd.Dir, map[string]string{"crd.yaml": clusterPolicyDefinition, "held.yaml": heldManifest})
	summary := filepath.Join(t.TempDir(), "summary.md")
	cmd.Env = append(withoutCIEnv(cmd.Env), "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+summary)
	_, stderr, code := program.Run(t, cmd)
	if code != 123 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	requireText(t, stderr, "--healthy: 3 of 4 objects are not healthy")
	files := readReport(t, filepath.Join(cmd.Dir, "out"))
	failures := strings.Join(slices.Sorted(slices.Values(junitFailures(t, files["junit.xml"]))), "\n")
	markdown := testutil.ReadFiles(t, filepath.Dir(summary))["summary.md"]
	requireText(t, markdown, "3 not healthy")
	for _, name := range []string{"ClusterPol broken", "Namespace held", "ConfigMap full/kept"} {
		requireText(t, stderr, "ctrlplane: not healthy: "+name+": ", "::error title=not healthy%3A "+name+"::")
		requireText(t, markdown, "| "+name+" | ")
	}
	requireText(t, failures, "rule does not compile")
	requireText(t, files["report.html"], "<bdi>Namespace full</bdi></td><td>Terminating, not judged</td>")
	if strings.Contains(stderr+markdown+files["junit.xml"], "Namespace full") {
		t.Errorf("the Namespace is counted in addition to its ConfigMap: %s", stderr)
	}
}

// TestRunHealthyWithoutObjects has a command that deletes what it has created, as test tools do.
func TestRunHealthyWithoutObjects(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, minimal("--settle", longTimeout, "--healthy", "--no-hot-loop", "--max-conflicts", "100", "--",
		"sh", "-c", `"$0" kubectl create ns shop && "$0" kubectl create configmap settings -n shop && "$0" kubectl delete ns shop`, program.Path())...)
	_, stderr, code := program.Run(t, cmd)
	if code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	requireLastLine(t, stderr, ": settled, no objects are left to judge, 3 assertions held")
}
