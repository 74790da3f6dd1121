package trace

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

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
