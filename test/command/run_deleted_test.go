//go:build unix

package command_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// deletedManifest has objects that are not healthy: no node has room for the Pods.
const deletedManifest = `
{apiVersion: v1, kind: Pod, metadata: {name: kept, finalizers: [a.b/c]}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: "1000"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: one, labels: {in: collection}}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: "1000"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: two, labels: {in: collection}}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: "1000"}}}]}}
---
{apiVersion: v1, kind: Secret, metadata: {name: pw, namespace: shop}, stringData: {password: hunter2}}
`

// deleteAll deletes what is not healthy, as test tools do after a failure: with its namespace, alone, and in a collection. A
// dry run deletes nothing, and a second deletion of an object finds it being deleted.
const deleteAll = `set -e
kubectl() { "$0" kubectl "$@"; }
kubectl create namespace shop
kubectl create quota few --hard=pods=0 -n shop
kubectl create deployment web --image=nginx -n shop
kubectl create -f pods.yaml
kubectl wait deployment/web -n shop --for=condition=ReplicaFailure --timeout=-1s
kubectl wait pods --all --for=condition=PodScheduled=false --timeout=-1s
kubectl delete pod kept --dry-run=server
kubectl delete namespace shop
kubectl delete pod kept --wait=false
kubectl delete pod kept --wait=false
kubectl patch pod kept --type=merge -p '{"metadata":{"finalizers":null}}'
kubectl delete --raw '/api/v1/namespaces/default/pods?labelSelector=in%3Dcollection'
`

// A run that has failed says what was not healthy when it was deleted, and one that has passed says it on its page only.
func TestRunSaysWhatWasDeletedWhileNotHealthy(t *testing.T) {
	t.Parallel()
	const phrase = "eleted while not healthy"
	for _, script := range []string{deleteAll + "exit 1", deleteAll} {
		cmd := newRunCommand(t, "--report", "out", "--settle", "--nodes=1", "--", "sh", "-c", script, program.Path())
		testutil.WriteFiles(t, cmd.Dir, map[string]string{"pods.yaml": deletedManifest})
		summary := filepath.Join(t.TempDir(), "summary.md")
		cmd.Env = append(withoutCIEnv(cmd.Env), "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+summary)
		_, stderr, code := program.Run(t, cmd)
		files := readReport(t, filepath.Join(cmd.Dir, "out"))
		markdown := testutil.ReadFile(t, summary)
		_, page, _ := strings.Cut(files["report.html"], `<section id="deleted"`)
		page, _, _ = strings.Cut(page, "</section>")
		requireText(t, page, "D"+phrase, "<bdi>Deployment shop/web</bdi>", "exceeded quota: few", "kubectl (kubernetes-admin)", "with <bdi>Namespace shop</bdi>", "Insufficient cpu")
		for _, name := range []string{"Deployment shop/web", "Pod default/kept", "Pod default/one", "Pod default/two"} {
			if n := strings.Count(page, "<bdi>"+name+"</bdi>"); n != 1 {
				t.Errorf("%s is %d times in %s", name, n, page)
			}
		}
		if strings.Count(page, "<tr>") != 5 || strings.Contains(page, "examined") {
			t.Errorf("other objects than the four: %s", page)
		}
		if strings.Contains(strings.Join([]string{stderr, markdown, files["report.html"], files["junit.xml"]}, ""), "hunter2") || strings.Contains(files["junit.xml"], phrase) {
			t.Errorf("a Secret, or a result in junit.xml: %s", files["junit.xml"])
		}
		if script == deleteAll {
			if code != 0 || strings.Contains(stderr+markdown, phrase) {
				t.Errorf("exit code %d: %s%s", code, stderr, markdown)
			}
			requireLastLine(t, stderr, ": settled, no objects are left to judge; the report is ")
			continue
		}
		if code != 1 {
			t.Errorf("exit code %d: %s", code, stderr)
		}
		requireText(t, stderr, "ctrlplane: d"+phrase+": Deployment shop/web: InProgress: ReplicaSet web-", "exceeded quota: few", "::warning title=d"+phrase+"%3A Deployment shop/web::")
		requireText(t, markdown, "| D"+phrase+" | Why |", "| Deployment shop/web | InProgress")
		requireLastLine(t, stderr, ": no objects are left to judge, 4 objects were deleted while not healthy; the report is ")
	}
}
