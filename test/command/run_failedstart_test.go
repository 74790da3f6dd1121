//go:build unix

package command_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestReportOfAFailedStart has a manifest of an unknown kind: the recording is read at a
// moment before the controllers were stopped. Another run, which does not even start,
// leaves nothing of that report.
func TestReportOfAFailedStart(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, minimal("--report", "out", "-f", "typo.yaml", "--", "true")...)
	testutil.WriteFile(t, filepath.Join(cmd.Dir, "typo.yaml"), "{apiVersion: v1, kind: Podd, metadata: {name: x}}\n")
	folder := filepath.Join(cmd.Dir, "out")
	cmd.Env = withoutCIEnv(cmd.Env)
	if _, stderr, code := program.Run(t, cmd); code != 2 || !strings.Contains(stderr, "the control plane does not serve kind Podd in v1") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	status, stderr, code := program.Run(t, program.Command(t, "status", "--from", folder))
	if code != 0 || !strings.HasPrefix(status, "run is starting") || strings.Contains(status, "changed manually") {
		t.Errorf("exit code %d, stderr %q, status:\n%s", code, stderr, status)
	}
	next := newRunCommand(t, "--report", folder, "-f", "missing.yaml", "--", "true")
	next.Env = withoutCIEnv(next.Env)
	if _, stderr, code := program.Run(t, next); code != 2 || !strings.Contains(stderr, "missing.yaml") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for name, text := range readReport(t, folder) {
		if strings.Contains(text, "Podd") || name == "junit.xml" && !strings.Contains(text, "missing.yaml") {
			t.Errorf("%s is that of the earlier run:\n%s", name, text)
		}
	}
}

// TestReportOfRefusedManifests has two manifests that the API server refuses: both are named, and the report has the objects.
func TestReportOfRefusedManifests(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, minimal("--healthy", "--report", "out", "-f", "m.yaml", "--", "touch", "ran")...)
	config := func(name, data string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}, data: {a: " + data + "}}\n---\n"
	}
	testutil.WriteFile(t, filepath.Join(cmd.Dir, "m.yaml"), config("Bad_1", "x")+config("good", "x")+config("bad2", "[]")+config("good", "y"))
	cmd.Env = withoutCIEnv(cmd.Env)
	_, stderr, code := program.Run(t, cmd)
	if code != 2 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{
		"ctrlplane: manifests: m.yaml:1: ConfigMap Bad_1: ", "\nctrlplane: manifests: m.yaml:5: ConfigMap bad2: ", ": the command was not run; the report is ",
		"warning: m.yaml:7: ConfigMap good is defined in m.yaml:3, too",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr has no %q:\n%s", want, stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "ran")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the command was run: %v", err)
	}
	report := readReport(t, filepath.Join(cmd.Dir, "out"))
	for name, wants := range map[string][]string{
		"objects.yaml": {"name: good\n"},
		"junit.xml":    {`<testcase name="touch ran" classname="ctrlplane.command" time="0.000">` + "\n      <skipped ", `name="manifests" classname="ctrlplane.start"`, `message="not applied"`, `name="--healthy"`},
		"report.html":  {"The command was not run.", "</b> objects"},
	} {
		for _, want := range wants {
			if !strings.Contains(report[name], want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
	}
}

// TestReportOfWrongUsage has a mistake that only a component finds, when there is a report already: its exit code is that of
// the process.
func TestReportOfWrongUsage(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, "--controllers=-*", "--report", "out", "--", "true")
	cmd.Env = withoutCIEnv(cmd.Env)
	_, stderr, code := program.Run(t, cmd)
	if code != 2 || !strings.Contains(stderr, "ctrlplane: failed with exit code 2 after ") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if junit := readReport(t, filepath.Join(cmd.Dir, "out"))["junit.xml"]; !strings.Contains(junit, "failed with exit code 2") || strings.Contains(junit, "125") {
		t.Errorf("junit.xml: %s", junit)
	}
}

// manifestTooLarge is an object that the API server reads and etcd does not take.
var manifestTooLarge = "apiVersion: stable.example.com/v1\nkind: Note\nmetadata: {name: a}\ntext: " + strings.Repeat("x", 2_200_000) + `
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: notes.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: notes, kind: Note}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {text: {type: string}}}}}
`

// TestRunDistinguishesWrongManifests: only what may succeed with another attempt is a failure of ctrlplane.
func TestRunDistinguishesWrongManifests(t *testing.T) {
	t.Parallel()
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replica: 3\n"
	for _, test := range []struct {
		name, manifest string
		says           string
	}{
		{"an unknown field", deployment, "m.yaml:5: Deployment a: "},
		{"a field of another type", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: b\n  num: 5\n", "m.yaml:6: ConfigMap a: "},
		{"an invalid value", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  ports:\n  - {name: x, port: 80}\n  - {name: b,\n     port: 80000}\n", "m.yaml:8: Service a: "},
		{"an unknown field of the object", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspecs: {}\n", "m.yaml:4: Pod a: "},
		{"a quantity", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: a, image: a, resources: {limits: {memory: 1Gx}}}]\n", "failed to convert new object"},
		{"no base64", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: '!'}\n", "failed to convert new object"},
		{"too large", manifestTooLarge, "etcdserver: request is too large"},
		{"no YAML", "a: [\n", "m.yaml:"},
		{"no namespace", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: nope\n", `namespaces "nope" not found`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cmd := newRunCommand(t, minimal("-f", "m.yaml", "--", "true")...)
			testutil.WriteFile(t, filepath.Join(cmd.Dir, "m.yaml"), test.manifest)
			program.RequireFailure(t, cmd, 2, test.says)
		})
	}
	t.Run("up", func(t *testing.T) {
		t.Parallel()
		file := testutil.WriteFile(t, filepath.Join(t.TempDir(), "m.yaml"), deployment)
		program.RequireFailure(t, program.Command(t, "up", "--ephemeral", "--ui", "none", "-f", file), 2, file+":5: Deployment a: ")
	})
}
