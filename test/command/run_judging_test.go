//go:build unix

package command_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestRunInterruptedWhileJudging has an object whose conversion, which the list at the end asks for,
// does not end.
func TestRunInterruptedWhileJudging(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"--healthy"}, {"--healthy", "--report=out"}} {
		file, hangs := hangingGadget(t, "v1")
		r := startRun(t, minimal(append(flags, "-f", file, "--", "true")...)...)
		select {
		case <-hangs:
		case <-r.ended:
			t.Fatalf("ended: %s", &r.stderr)
		}
		r.sendSignal(t, syscall.SIGINT)
		r.requireExit(t, 130)
		requireText(t, r.stderr.String(), "ctrlplane: interrupted by SIGINT after ")
		requireLastLine(t, r.stderr.String(), "not judged: interrupted")
		if len(flags) > 1 {
			failures := slices.DeleteFunc(junitFailures(t, readReport(t, filepath.Join(r.cmd.Dir, "out"))["junit.xml"]), func(m string) bool { return m == "" })
			if want := []string{"interrupted by SIGINT: not judged: interrupted"}; !slices.Equal(failures, want) {
				t.Errorf("junit.xml has the failures %q, want %q", failures, want)
			}
		}
	}
}

// doubtfulManifest has custom resources that no operator works for.
const doubtfulManifest = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.example.com}
spec:
  group: example.com
  names: {kind: Site, plural: sites}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
{apiVersion: example.com/v1, kind: Site, metadata: {name: a}}
---
{apiVersion: example.com/v1, kind: Site, metadata: {name: b}}
`

// A custom resource that no operator has touched, or that says in a condition unknown to kstatus that it failed, counts as
// healthy. run, wait and why say so.
func TestDoubtfulHealthIsSaid(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sites.yaml")
	testutil.WriteFile(t, file, doubtfulManifest)
	const script = `"$CTRLPLANE" kubectl patch site b --subresource status --type merge -p '{"status":{"conditions":[{"type":"Synced","status":"False","reason":"Unlucky","message":"no luck."}]}}' &&
		"$CTRLPLANE" wait site/a site/b 2>&1 && "$CTRLPLANE" why site/a && "$CTRLPLANE" why site/b`
	r := startRunWith(t, []string{"CTRLPLANE=" + program.Path()}, minimal("--settle", "--healthy", "--report=out", "-f", file, "--", "sh", "-c", script)...)
	r.requireExit(t, 0)
	out, err := io.ReadAll(r.stdout)
	if err != nil {
		t.Fatal(err)
	}
	const missing, never = "no status yet, and no client watches sites.example.com", "no status yet, and no client has watched sites.example.com"
	const synced = "condition Synced is False: Unlucky: no luck"
	requireText(t, string(out), "Site default/a  Current  Resource is current, but it has "+missing+"\n", "Site default/b  Current  Resource is current, but its "+synced+"\n",
		"\nIt has "+missing+".\n", "\nIts "+synced+".\n")
	for name, text := range map[string]string{"stderr": r.stderr.String(), "report": readReport(t, filepath.Join(r.cmd.Dir, "out"))["report.html"]} {
		for _, want := range []string{"Site default/a counts as healthy, but it has " + never, "Site default/b counts as healthy, but its " + synced} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not contain %q: %s", name, want, &r.stderr)
			}
		}
	}
}

// unreportedManifest has an object that no operator works for, of a kind whose schema says by default that it was not
// observed, as those of Flux do.
const unreportedManifest = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sources.example.com}
spec:
  group: example.com
  names: {kind: Source, plural: sources}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {url: {type: string}}}, status: {type: object, default: {observedGeneration: -1}, properties: {observedGeneration: {type: integer, format: int64}}}}}}
---
{apiVersion: example.com/v1, kind: Source, metadata: {name: a}, spec: {url: here}}
`

// Of an object that is not healthy because no operator has seen it, run, wait and why say that none watches its kind.
func TestUnreportedStateIsSaid(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sources.yaml")
	testutil.WriteFile(t, file, unreportedManifest)
	const script = `for seconds in 1 10 60; do
	"$CTRLPLANE" wait source/a --timeout ${seconds}s >waited 2>&1
	! grep -q ", and no client" waited || ! grep -q "default/a: no client" waited || break
done
cat waited && "$CTRLPLANE" why source/a`
	r := startRunWith(t, []string{"CTRLPLANE=" + program.Path()}, minimal("--settle", "--healthy", "-f", file, "--", "sh", "-c", script)...)
	r.requireExit(t, 123)
	out, err := io.ReadAll(r.stdout)
	if err != nil {
		t.Fatal(err)
	}
	const reason, unwatched = "no client has written its status", "no client watches sources.example.com"
	requireText(t, string(out), "Source default/a  InProgress  "+reason+", and "+unwatched+"\n", "\nSource default/a: "+unwatched+"\n")
	requireText(t, strings.Join(strings.Fields(string(out)), " "), " It is not ready: "+reason+"; "+unwatched+". ")
	requireText(t, r.stderr.String(), "Source default/a has no status yet, and no client has watched sources.example.com\n")
}

// hangingGadget returns a manifest with a custom resource in one of its versions, whose conversion
// does not end: hangs receives a value when it has begun. It is stored in v1.
func hangingGadget(t *testing.T, version string) (file string, hangs <-chan struct{}) {
	t.Helper()
	webhook := startHangingWebhook(t)
	crd := strings.Replace(crdWithDeadConversion, `url: "https://127.0.0.1:1/convert"`,
		fmt.Sprintf("url: %q, caBundle: %s", *webhook.URL, base64.StdEncoding.EncodeToString(webhook.CABundle)), 1)
	file = filepath.Join(t.TempDir(), "gadget.yaml")
	testutil.WriteFile(t, file, crd+"---\n{apiVersion: example.com/"+version+", kind: Gadget, metadata: {name: a}}\n")
	return file, webhook.arrived
}

// startHangingRun starts a run, and returns when its control plane starts and cannot go on.
func startHangingRun(t *testing.T, args ...string) *runProcess {
	t.Helper()
	file, hangs := hangingGadget(t, "v2")
	r := startRun(t, minimal(append([]string{"-f", file}, args...)...)...)
	select {
	case <-hangs:
	case <-r.ended:
		t.Fatalf("ended: %s", &r.stderr)
	}
	return r
}
