//go:build unix

package command_test

import (
	"path/filepath"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// vanishingManifest has a Pod whose owner does not exist, which the garbage collector deletes, and one that runs until it
// gets such an owner: a kubelet ends its deletion.
const vanishingManifest = `
apiVersion: v1
kind: Pod
metadata:
  name: orphan
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: gone, uid: 11111111-1111-1111-1111-111111111111}]
spec: {schedulerName: none, containers: [{name: c, image: c}]}
---
apiVersion: v1
kind: Pod
metadata: {name: running}
spec: {containers: [{name: c, image: c}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: deleted}
`

const absentOwner = `metadata: {ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: gone, uid: 11111111-1111-1111-1111-111111111111}]}`

// TestRunHealthyVanished has objects of -f that do not exist any more: one that the command has
// deleted does not count, one that a controller has deleted is not healthy.
func TestRunHealthyVanished(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, "--settle", longTimeout, "--healthy", "--report", "out", "-f", "gc.yaml", "--",
		"sh", "-c", `"$0" kubectl delete configmap deleted && "$0" kubectl wait pod/orphan --for=delete --timeout=-1s &&
			"$0" kubectl wait pod/running --for=condition=Ready --timeout=-1s && "$0" kubectl patch pod running --patch-file owner.yaml && "$0" kubectl wait pod/running --for=delete --timeout=-1s`, program.Path())
	testutil.WriteFiles(t, cmd.Dir, map[string]string{"gc.yaml": vanishingManifest, "owner.yaml": absentOwner})
	cmd.Env = withoutCIEnv(cmd.Env)
	_, stderr, code := program.Run(t, cmd)
	if code != 123 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	const why = "no longer exists: garbage-collector-controller deleted it"
	requireText(t, stderr, "not healthy: Pod default/orphan: "+why, "not healthy: Pod default/running: "+why, "--healthy: 2 of 2 objects are not healthy")
	junit := readReport(t, filepath.Join(cmd.Dir, "out"))["junit.xml"]
	requireText(t, junit, `<testcase name="Pod default/orphan"`, why, "Why Pod default/orphan was deleted",
		`<testcase name="ConfigMap default/deleted"`, `<skipped message="deleted by kubectl`)
}
