//go:build unix

package command_test

import (
	"context"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// A write that hangs in a webhook does not delay the end of the process as long as the
// webhook may take.
func TestStopWhileWebhookHangs(t *testing.T) {
	t.Parallel()
	p := program.Up(t, t.TempDir(), "--nodes", "0")
	if !t.Run("suspended before", func(t *testing.T) { testWaitForSuspended(t, p) }) {
		t.FailNow()
	}
	client := p.Client(t)
	hook := startHangingWebhook(t)
	createWebhook(t, client, "hang", admissionregistrationv1.Fail, hook.WebhookClientConfig, 30, "", "limitranges") // which no controller writes
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil { // once the webhook is in force, a request waits for it
			_, _ = client.CoreV1().LimitRanges("default").Create(ctx, &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{GenerateName: "m-"}}, metav1.CreateOptions{})
		}
	}()
	defer func() { cancel(); <-ended }()
	p.Await(t, "calling the webhook", func() bool { return len(hook.arrived) > 0 })
	p.Stop(t, syscall.SIGTERM)
	log := testutil.ReadFile(t, filepath.Join(p.Dir, "ctrlplane.log"))
	// Otherwise it ends with its timeout.
	if want := "failed to call webhook: .*: the API server is closing"; !regexp.MustCompile(want).MatchString(log) {
		t.Errorf("the log does not have %q:\n%s", want, log)
	}
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exited with %d: %s", code, p.Stderr)
	}
}
