package trace

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A write that was refused says what webhooks had done to its object, and so does the key that fails because of it: the error may be
// about what they have changed.
func TestWebhooksOfARefusedWriteAreNamed(t *testing.T) {
	pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default"}
	webhooks := []observe.Webhook{
		{Name: "mutate.example.com", Outcome: observe.WebhookChanged, Fields: []string{"metadata.labels.env"}}, {Outcome: observe.WebhookChanged},
		{Name: "patch.example.com", Outcome: observe.WebhookUnapplied},
	}
	records := recorded(
		&observe.Called{Controller: "replicaset-controller", Verb: "create", Object: pod, Status: 422, Error: "invalid", Sync: 3, Webhooks: webhooks},
		&observe.Synced{Controller: "replicaset-controller", Queue: "replicaset", ID: 3, Key: "default/web", KeyBasis: observe.BasisLog, Error: "invalid"})
	key := FailingKey{&observe.Controller{Name: "replicaset-controller"}, observe.FailingKey{Queue: "replicaset", Key: "default/web"}}
	const want = "At the last attempt to create Pod, webhook mutate.example.com had changed the object: metadata.labels.env; " +
		"MutatingAdmissionPolicies had changed the object; the answer of webhook patch.example.com could not be applied."
	if got := key.DescribeWebhooks(records); got != want {
		t.Errorf("got %q", got)
	}
	later := recorded(records[0].Event,
		&observe.Called{Controller: "replicaset-controller", Verb: "create", Object: pod, Status: 403, Error: "exceeded quota", Sync: 3}, records[1].Event)
	if got := key.DescribeWebhooks(later); got != "" {
		t.Errorf("after a later failed write: %q", got)
	}
	if key.Key = "default/other"; key.DescribeWebhooks(records) != "" {
		t.Errorf("of another key: %q", key.DescribeWebhooks(records))
	}
	chain, err := Why(clientCalls(observe.Called{Verb: "create", Status: 422, Error: "invalid", Webhooks: webhooks}), deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := writeString(t, chain, Text, Style{}); !strings.Contains(text, "webhook mutate.example.com had changed the object: metadata.labels.env\n") {
		t.Errorf("got:\n%s", text)
	}
}

// A write that was admitted says which webhook has changed its object, and which could not be called, and what the API server
// warned of.
func TestWebhooksOfAWriteAreNamed(t *testing.T) {
	records := clientCalls(observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Webhooks: []observe.Webhook{
		{Name: "mutate.example.com", Outcome: observe.WebhookChanged}, {Name: "validate.example.com", Outcome: observe.WebhookIgnored},
	}, Warnings: []string{"unknown field spec.imge"}})
	chain, err := Why(records, deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Build(records, deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"why": writeString(t, chain, Text, Style{}), "trace": writeString(t, tree, Text, Style{}), "page": writeString(t, tree, HTML, Style{}),
	} {
		for _, want := range []string{"mutate.example.com has changed the object", "validate.example.com could not be called and was ignored", "unknown field spec.imge"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in:\n%s", what, want, text)
			}
		}
	}
}
