package command_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// crdWithDeadConversion has two versions and a conversion webhook that does not
// answer, as when its operator is not running.
const crdWithDeadConversion = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {url: "https://127.0.0.1:1/convert"}
`

// TestStartWithDeadConversionWebhook starts on a data folder with a custom resource
// that cannot be listed in one of its versions.
func TestStartWithDeadConversionWebhook(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	first := program.Up(t, dir)
	kubectl := func(args ...string) {
		t.Helper()
		if _, stderr, code := program.Run(t, program.Command(t, append([]string{"--data-dir", dir, "kubectl"}, args...)...)); code != 0 {
			t.Fatalf("kubectl %v exited with %d: %s", args, code, stderr)
		}
	}
	folder := t.TempDir()
	testutil.WriteFile(t, filepath.Join(folder, "crd.yaml"), crdWithDeadConversion)
	testutil.WriteFile(t, filepath.Join(folder, "gadget.yaml"), "{apiVersion: example.com/v1, kind: Gadget, metadata: {name: a, namespace: default}}")
	kubectl("apply", "-f", filepath.Join(folder, "crd.yaml"))
	kubectl("wait", "--for=condition=Established", "--timeout=-1s", "crd/gadgets.example.com")
	kubectl("apply", "-f", filepath.Join(folder, "gadget.yaml"))
	first.Stop(t, syscall.SIGTERM)
	if code := first.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("the first run exited with %d: %s", code, first.Stderr)
	}
	second := program.Up(t, dir)
	program.WaitSettled(t, dir)
	second.Stop(t, syscall.SIGTERM)
	if code := second.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the second run exited with %d: %s", code, second.Stderr)
	}
}
