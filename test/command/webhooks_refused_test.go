package command_test

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// What webhooks refuse to controllers, and what they have changed in what is refused, is said where the object is explained, with the
// configurations to edit or delete.
func TestWebhooksOfRefusedWrites(t *testing.T) {
	t.Parallel()
	p := program.Up(t, t.TempDir(), "--nodes", "1")
	client := p.Client(t)
	flat := func(args ...string) string {
		stdout, stderr, _ := program.Run(t, program.Command(t, append([]string{"--data-dir", p.Dir}, args...)...)) // some of these fail
		return strings.Join(strings.Fields(stdout+" "+stderr), " ")
	}
	await := func(wants []string, args ...string) {
		t.Helper()
		p.Await(t, strings.Join(args, " ")+" with "+strings.Join(wants, ", "), func() bool {
			text := flat(args...)
			for _, want := range wants {
				if !strings.Contains(text, want) {
					return false
				}
			}
			return true
		})
	}
	program.MustRun(t, p.Dir, "kubectl", "create", "deployment", "web", "--image", "nginx")
	program.MustRun(t, p.Dir, "wait", "deployment/web")
	list, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatal(list, err)
	}
	pod := list.Items[0].Name

	createLabeler(t, client, "Not Valid!")
	p.Await(t, "a Pod that is refused", func() bool { // the webhook is effective a moment after it is created
		return !strings.Contains(flat("kubectl", "run", "direct", "--image", "nginx", "--dry-run=server"), "created")
	})
	program.MustRun(t, p.Dir, "kubectl", "create", "deployment", "labeled", "--image", "nginx")
	const labeler = "webhook labeler.example.com is in MutatingWebhookConfiguration labeler"
	changed := "t the last attempt to create Pod, webhook labeler.example.com had changed the object: metadata.labels.injected"
	await([]string{changed, "W" + labeler[1:]}, "why", "deployment/labeled")
	await([]string{changed, labeler}, "wait", "deployment/labeled", "--timeout", "100ms")
	// The Pod has another name at each attempt: its error is in the condition only.
	for _, args := range [][]string{{"why", "deployment/labeled"}, {"wait", "deployment/labeled", "--timeout", "100ms"}} {
		if text := flat(args...); strings.Count(text, "Invalid value") != 1 {
			t.Errorf("%s says the error more than once: %s", args[0], text)
		}
	}

	down := admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/review")}
	createWebhook(t, client, "keep", admissionregistrationv1.Fail, down, 2, "", "pods")
	createWebhook(t, client, "account", admissionregistrationv1.Fail, down, 2, "", "serviceaccounts")
	p.Await(t, "webhooks that refuse", func() bool {
		return strings.Contains(flat("kubectl", "delete", "pod", pod, "--dry-run=server"), "keep.example.com") &&
			strings.Contains(flat("kubectl", "create", "serviceaccount", "other", "--dry-run=server"), "account.example.com")
	})
	program.MustRun(t, p.Dir, "kubectl", "delete", "deployment", "web")
	program.MustRun(t, p.Dir, "kubectl", "create", "namespace", "locked")
	const keep = "webhook keep.example.com is in ValidatingWebhookConfiguration keep"
	await([]string{"garbage-collector-controller fails for default/" + pod, "W" + keep[1:]}, "why", "pod/"+pod)
	await([]string{keep, "webhook account.example.com is in ValidatingWebhookConfiguration account"}, "status")
	await([]string{"serviceaccount-controller failed to create ServiceAccount default"}, "why", "serviceaccount/default", "-n", "locked")
}
