package command_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// missingManifest has objects that count as healthy, or are not judged, without what they refer to.
const missingManifest = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: typo
  namespace: default
  ownerReferences: [{apiVersion: v1, kind: Deployment, name: web, uid: 6f4d1a52-0000-4000-8000-000000000001}]
---
apiVersion: v1
kind: Pod
metadata: {name: lost, namespace: default}
spec: {nodeName: ghost, containers: [{name: c, image: c}]}
---
apiVersion: v1
kind: Service
metadata: {name: manual, namespace: default}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: guarded, namespace: default, labels: {app: guarded}}
spec: {containers: [{name: c, image: c}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: first, namespace: default}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: guarded}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: second, namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {app: guarded}}}
`

// TestMissingOwnersAndNodes checks that status names what the controllers of Kubernetes only log: an owner whose kind is not
// served, and a Pod whose node does not exist; and that why says what else is missing.
func TestMissingOwnersAndNodes(t *testing.T) {
	t.Parallel()
	k := newSnapshotFixture(t)
	p := k.startUp()
	manifest := filepath.Join(t.TempDir(), "missing.yaml")
	testutil.WriteFile(t, manifest, missingManifest)
	k.mustRun("kubectl", "apply", "-f", manifest)
	const typo = "its owner Deployment web cannot be looked up: kind Deployment is not served in v1 but in apps/v1"
	p.Await(t, "what is missing", func() bool {
		status := strings.Join(strings.Fields(k.status()), " ")
		return strings.Contains(status, "1 Pod is on a missing node") && strings.Contains(status, "Pod default/lost not ready its node ghost does not exist") &&
			strings.Contains(status, "ConfigMap default/typo ready "+typo)
	})
	for object, want := range map[string]string{
		"configmap/typo": typo[len("its "):],
		"service/manual": "create one with the label kubernetes.io/service-name=manual.",
		"pod/guarded":    "It cannot be evicted: PodDisruptionBudgets first, second select it",
		"pdb/first":      "Its Pod guarded cannot be evicted: PodDisruptionBudget second selects it, too",
	} {
		p.Await(t, "why of "+object, func() bool { // a Pod is evicted at once until it runs
			return strings.Contains(strings.Join(strings.Fields(k.mustRun("why", object)), " "), want)
		})
	}
}
