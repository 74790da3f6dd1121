//go:build unix

package command_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

const largePod = `{apiVersion: v1, kind: Pod, metadata: {name: one, labels: {in: collection}}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: "1000"}}}]}}`

// deletedManifest has objects that are not healthy: no node has room for the Pods.
const deletedManifest = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: few, namespace: shop}, spec: {hard: {pods: "0"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: kept, finalizers: [a.b/c]}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: "1000"}}}]}}
---
` + largePod + `
---
{apiVersion: v1, kind: Pod, metadata: {name: two, labels: {in: collection}}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: "1000"}}}]}}
---
{apiVersion: v1, kind: Secret, metadata: {name: pw, namespace: shop}, stringData: {password: hunter2}}
`

// appManifest has its Namespace first, as most do: kubectl deletes that before what is in it. One of its Deployments crashes.
func appManifest() string {
	list := []string{"{apiVersion: v1, kind: Namespace, metadata: {name: app}}"}
	for i := range 12 {
		name, args := fmt.Sprintf("d%d", i), "sleep 1000"
		if i == 11 {
			name, args = "broken", "exit 1"
		}
		list = append(list, fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: app, name: %[1]s}, spec: {selector: {matchLabels: {app: %[1]s}}, `+
			`template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: c, image: busybox, command: [sh, -c, %[2]q]}]}}}}`, name, args))
	}
	return strings.Join(list, "\n---\n")
}

// deleteAll deletes what is not healthy, as test tools do after a failure: with its namespace, alone, and in a collection. A
// dry run deletes nothing, and a second deletion of an object finds it being deleted.
const deleteAll = `set -e
kubectl() { "$0" kubectl "$@"; }
kubectl create -f all.yaml
kubectl create deployment web --image=nginx -n shop
kubectl wait deployment/web -n shop --for=condition=ReplicaFailure --timeout=-1s
kubectl wait pods --all --for=condition=PodScheduled=false --timeout=-1s
kubectl delete pod kept --dry-run=server
kubectl delete namespace shop
kubectl delete pod kept --wait=false
kubectl delete pod kept --wait=false
kubectl patch pod kept --type=merge -p '{"metadata":{"finalizers":null}}'
kubectl apply -f app.yaml
kubectl wait deployment d0 d1 d2 d3 d4 d5 d6 d7 d8 d9 d10 -n app --for=condition=Available --timeout=-1s
kubectl wait pods -n app -l app=broken --for=jsonpath='{.status.containerStatuses[0].state.waiting.reason}'=CrashLoopBackOff --timeout=-1s
kubectl delete -f app.yaml --ignore-not-found # the namespace controller may be faster
kubectl delete --raw '/api/v1/namespaces/default/pods?labelSelector=in%3Dcollection'
exit 1
`

// deleteOne does so with one object, and passes.
const deleteOne = `set -e
"$0" kubectl create -f one.yaml
"$0" kubectl wait pod/one --for=condition=PodScheduled=false --timeout=-1s
"$0" kubectl delete pod/one
`

const deletedPhrase = "eleted while not healthy"

// runDeletion runs a script with manifests as a job of GitHub does. It returns what it printed, its
// exit code, the summary of the job, the files of the report, the folder of that and what is deleted according to its page.
func runDeletion(t *testing.T, script string) (stderr string, code int, markdown string, files map[string]string, folder, page string) {
	t.Helper()
	cmd := newRunCommand(t, "--report", "out", "--settle", longTimeout, "--nodes=1", "--", "sh", "-c", script, program.Path())
	testutil.WriteFiles(t, cmd.Dir, map[string]string{"all.yaml": deletedManifest, "app.yaml": appManifest(), "one.yaml": largePod})
	summary := filepath.Join(t.TempDir(), "summary.md")
	cmd.Env = append(withoutCIEnv(cmd.Env), "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+summary)
	_, stderr, code = program.Run(t, cmd)
	folder = filepath.Join(cmd.Dir, "out")
	files = readReport(t, folder)
	_, page, _ = strings.Cut(files["report.html"], `<section id="deleted"`)
	page, _, _ = strings.Cut(page, "</section>")
	return stderr, code, testutil.ReadFile(t, summary), files, folder, page
}

// A run that has failed says what was not healthy when it was deleted.
func TestRunSaysWhatWasDeletedWhileNotHealthy(t *testing.T) {
	t.Parallel()
	stderr, code, markdown, files, folder, page := runDeletion(t, deleteAll)
	requireText(t, page, "D"+deletedPhrase, "<bdi>Deployment shop/web</bdi>", "exceeded quota: few", "kubectl (kubernetes-admin)", "with <bdi>Namespace shop</bdi>", "Insufficient cpu")
	for _, name := range []string{"Deployment shop/web", "Deployment app/broken", "Pod default/kept", "Pod default/one", "Pod default/two"} {
		if n := strings.Count(page, "<bdi>"+name+"</bdi>"); n != 1 {
			t.Errorf("%s is %d times in %s", name, n, page)
		}
	}
	if strings.Count(page, "<tr>") != 6 || strings.Contains(page, "examined") {
		t.Errorf("other objects than the five: %s", page)
	}
	if strings.Contains(strings.Join([]string{stderr, markdown, files["report.html"], files["junit.xml"]}, ""), "hunter2") || strings.Contains(files["junit.xml"], deletedPhrase) {
		t.Errorf("a Secret, or a result in junit.xml: %s", files["junit.xml"])
	}
	if code != 1 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	requireText(t, stderr, "ctrlplane: d"+deletedPhrase+": Deployment shop/web: InProgress: ReplicaSet web-", "exceeded quota: few", "::warning title=d"+deletedPhrase+"%3A Deployment shop/web::")
	requireText(t, markdown, "| D"+deletedPhrase+" | Why |", "| Deployment shop/web | InProgress")
	requireLastLine(t, stderr, ": no objects are left to judge (deleted while not healthy: 5 objects); the report is ")
	t.Run("why, in the recording", func(t *testing.T) { testWhyOfADeletedObject(t, folder) })
}

// A run that has passed says it on its page only.
func TestPassedRunSaysWhatWasDeletedOnItsPage(t *testing.T) {
	t.Parallel()
	stderr, code, markdown, files, _, page := runDeletion(t, deleteOne)
	requireText(t, page, "D"+deletedPhrase, "<bdi>Pod default/one</bdi>", "Insufficient cpu")
	if code != 0 || strings.Contains(stderr+markdown+files["junit.xml"], deletedPhrase) {
		t.Errorf("exit code %d: %s%s", code, stderr, markdown)
	}
	requireLastLine(t, stderr, ": settled, no objects are left to judge; the report is ")
}

// testWhyOfADeletedObject asks about a Deployment that was deleted with its namespace: the recording says what was wrong with
// it all the same.
func testWhyOfADeletedObject(t *testing.T, folder string) {
	why := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := program.Run(t, program.Command(t, append([]string{"why", "deployment/web", "-n", "shop", "--from", folder}, args...)...))
		if code != 0 {
			t.Errorf("exit code %d: %s", code, stderr)
		}
		return strings.Join(strings.Fields(stdout), " ")
	}
	if got := why(); !strings.Contains(got, "Before its deletion: ") || !strings.Contains(got, "exceeded quota: few") {
		t.Errorf("got %s", got)
	}
	if got := why("--deleted"); strings.Contains(got, "Before its deletion: ") {
		t.Errorf("why it was deleted: %s", got)
	}
}

const fooManifest = `
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: foos.x.io}, spec: {group: x.io, scope: Namespaced, names: {plural: foos, kind: Foo, singular: foo}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
`

// Without controllers only custom resources count, and a failed assertion is why a run has failed, not what was deleted.
func TestRunSaysWhichCustomResourcesWereDeleted(t *testing.T) {
	t.Parallel()
	const script = `"$0" kubectl create -f foos.yaml && "$0" kubectl delete foo/gone pod/one`
	foo := func(name string) string {
		return `{apiVersion: x.io/v1, kind: Foo, metadata: {name: ` + name + `}, status: {conditions: [{type: Ready, status: "False", message: db is down}]}}`
	}
	cmd := newRunCommand(t, "--bare", "--healthy", "-f", "crd.yaml", "--", "sh", "-c", script, program.Path())
	pod := `{apiVersion: v1, kind: Pod, metadata: {name: one}, spec: {containers: [{name: c, image: c}]}}`
	testutil.WriteFiles(t, cmd.Dir, map[string]string{"crd.yaml": fooManifest, "foos.yaml": strings.Join([]string{foo("stays"), foo("gone"), pod}, "\n---\n")})
	_, stderr, code := program.Run(t, cmd)
	if code != 123 || strings.Contains(stderr, "default/one") || strings.Count(stderr, "eleted while not healthy") != 1 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	requireText(t, stderr, "ctrlplane: deleted while not healthy: Foo default/gone: InProgress: db is down", "failed an assertion after ")
}
