package apiserver

import (
	"context"
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/admission"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"

	"github.com/ctrlplane/ctrlplane/observe"
)

// webhookPlugin is one of upstream's two plugins that call webhooks. It notes which webhooks have changed the object of a
// write, and which it could not call and ignored: nothing but the annotations of the audit log says so.
type webhookPlugin struct{ admission.Interface }

// notingPlugin returns a plugin that notes what webhooks do if the plugin calls them, and otherwise the plugin itself.
func notingPlugin(plugin admission.Interface, name string) admission.Interface {
	if name != mutatingwebhook.PluginName && name != validatingwebhook.PluginName {
		return plugin
	}
	return webhookPlugin{plugin}
}

var (
	_ admission.MutationInterface   = webhookPlugin{}
	_ admission.ValidationInterface = webhookPlugin{}
)

// Admit implements admission.MutationInterface.
func (p webhookPlugin) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if next, ok := p.Interface.(admission.MutationInterface); ok {
		return next.Admit(ctx, notedAttributes{a}, o)
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (p webhookPlugin) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if next, ok := p.Interface.(admission.ValidationInterface); ok {
		return next.Validate(ctx, notedAttributes{a}, o)
	}
	return nil
}

// notedAttributes are those of a write. They read the annotations for the audit log, whether that is written or not.
type notedAttributes struct{ admission.Attributes }

// AddAnnotation implements admission.Attributes.
func (a notedAttributes) AddAnnotation(key, value string) error {
	switch {
	case strings.HasPrefix(key, validatingwebhook.ValidatingAuditAnnotationFailedOpenKeyPrefix),
		strings.HasPrefix(key, mutatingwebhook.MutationAuditAnnotationFailedOpenKeyPrefix):
		noteWebhook(value, observe.WebhookIgnored)
	case strings.HasPrefix(key, mutatingwebhook.MutationAuditAnnotationPrefix):
		var mutation struct {
			Webhook string `json:"webhook"`
			Mutated bool   `json:"mutated"`
		}
		if json.Unmarshal([]byte(value), &mutation) == nil && mutation.Mutated {
			noteWebhook(mutation.Webhook, observe.WebhookChanged)
		}
	}
	return a.Attributes.AddAnnotation(key, value)
}

// noteWebhook notes what a webhook does, if it has a webhook's name: a webhook can be named such that annotations of its
// answer look as those of the plugins.
func noteWebhook(name string, outcome observe.WebhookOutcome) {
	if len(validation.IsDNS1123Subdomain(name)) == 0 {
		observe.NoteWebhook(name, outcome)
	}
}
