//go:build unix

package command_test

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
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
		requireText(t, r.stderr.String(), "ctrlplane: ended by signal 2 after ")
		requireLastLine(t, r.stderr.String(), "not judged: interrupted")
		if len(flags) > 1 {
			failures := slices.DeleteFunc(junitFailures(t, readReport(t, filepath.Join(r.cmd.Dir, "out"))["junit.xml"]), func(m string) bool { return m == "" })
			if want := []string{"ended by signal 2: not judged: interrupted"}; !slices.Equal(failures, want) {
				t.Errorf("junit.xml has the failures %q, want %q", failures, want)
			}
		}
	}
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
