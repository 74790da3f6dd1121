package apiserver

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"

	"github.com/ctrlplane/ctrlplane/internal/fieldpaths"
	"github.com/ctrlplane/ctrlplane/observe"
)

// notingPlugin returns a plugin that notes what webhooks or policies of users do to a write, if the plugin calls them, or what
// the write is to do, and otherwise the plugin itself.
func notingPlugin(plugin admission.Interface, name string) admission.Interface {
	switch name {
	case lifecycle.PluginName:
		return creationPlugin{plugin}
	case mutatingwebhook.PluginName:
		return webhookPlugin{plugin}
	case validatingwebhook.PluginName:
		return forcingPlugin{webhookPlugin{plugin}}
	case mutatingpolicy.PluginName:
		return policyPlugin{plugin}
	}
	return plugin
}

// webhookPlugin is one of upstream's two plugins that call webhooks. It notes which webhooks have changed the object of a
// write, and which it could not call and ignored: nothing but the annotations of the audit log says so.
type webhookPlugin struct{ admission.Interface }

var (
	_ admission.MutationInterface   = webhookPlugin{}
	_ admission.ValidationInterface = webhookPlugin{}
)

// Admit implements admission.MutationInterface.
func (p webhookPlugin) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if next, ok := p.Interface.(admission.MutationInterface); ok {
		noted := &notedAttributes{Attributes: a}
		err := next.Admit(ctx, noted, o)
		if noted.unchanged != "" && apierrors.IsInternalError(err) && !strings.Contains(err.Error(), `webhook "`) {
			noteWebhook(observe.Webhook{Name: noted.unchanged, Outcome: observe.WebhookUnapplied})
		}
		return err
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (p webhookPlugin) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if next, ok := p.Interface.(admission.ValidationInterface); ok {
		return next.Validate(ctx, &notedAttributes{Attributes: a}, o)
	}
	return nil
}

// notedAttributes are those of a write. They read the annotations for the audit log, whether that is written or not.
type notedAttributes struct {
	admission.Attributes
	// patch has the fields of the last patch of a mutating webhook, and patchRound its place: the annotation that says
	// whether the patch changed the object follows. Mutating webhooks are called one after the other.
	patch      []string
	patchRound string
	// unchanged is the last mutating webhook, if it has not changed the object. If its answer cannot be applied, the plugin fails with
	// an internal error that does not name it. The errors of a refusal and of a call do, and those of match conditions, of
	// a request that the client ended and of the last conversion are not internal ones.
	unchanged string
}

// AddAnnotation implements admission.Attributes.
func (a *notedAttributes) AddAnnotation(key, value string) error {
	switch {
	case strings.HasPrefix(key, validatingwebhook.ValidatingAuditAnnotationFailedOpenKeyPrefix): // concurrently
		noteWebhook(observe.Webhook{Name: value, Outcome: observe.WebhookIgnored})
	case strings.HasPrefix(key, mutatingwebhook.MutationAuditAnnotationFailedOpenKeyPrefix):
		a.unchanged = ""
		noteWebhook(observe.Webhook{Name: value, Outcome: observe.WebhookIgnored})
	case strings.HasPrefix(key, mutatingwebhook.MutationAuditAnnotationPrefix):
		var mutation struct {
			Webhook string `json:"webhook"`
			Mutated bool   `json:"mutated"`
		}
		if json.Unmarshal([]byte(value), &mutation) != nil {
			break
		}
		if !mutation.Mutated {
			a.unchanged = mutation.Webhook
			break
		}
		a.unchanged = ""
		w := observe.Webhook{Name: mutation.Webhook, Outcome: observe.WebhookChanged}
		if a.patchRound == strings.TrimPrefix(key, mutatingwebhook.MutationAuditAnnotationPrefix) {
			w.Fields = a.patch
		}
		noteWebhook(w)
	}
	return a.Attributes.AddAnnotation(key, value)
}

// AddAnnotationWithLevel implements admission.Attributes. Only the patches of mutating webhooks have a level of their own.
func (a *notedAttributes) AddAnnotationWithLevel(key, value string, level auditinternal.Level) error {
	if round, ok := strings.CutPrefix(key, mutatingwebhook.PatchAuditAnnotationPrefix); ok {
		a.patch, a.patchRound = patchedFields(value), round
	}
	return a.Attributes.AddAnnotationWithLevel(key, value, level)
}

// patchedFields returns the paths of the fields that the JSON patch in an annotation of the audit log names, in its order.
func patchedFields(annotation string) (fields []string) {
	var noted struct {
		Patch []struct {
			Op   string `json:"op"`
			Path string `json:"path"`
			From string `json:"from"`
		} `json:"patch"`
	}
	if json.Unmarshal([]byte(annotation), &noted) != nil {
		return nil
	}
	add := func(pointer string) {
		path := cmp.Or(fieldPath(pointer), "the whole object")
		if !slices.Contains(fields, path) {
			fields = append(fields, path)
		}
	}
	for _, p := range noted.Patch {
		if p.Op == "move" {
			add(p.From)
		}
		if p.Op != "test" {
			add(p.Path)
		}
	}
	return fields
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// fieldPath writes a JSON pointer (RFC 6901) as a path of fields. An element that is appended to a list is the list.
func fieldPath(pointer string) (path string) {
	for _, token := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if token != "-" {
			path = fieldpaths.Append(path, pointerEscapes.Replace(token))
		}
	}
	return path
}

// noteWebhook notes what a webhook does, if it has a webhook's name: a webhook can be named such that annotations of its
// answer look as those of the plugins.
func noteWebhook(w observe.Webhook) {
	if len(validation.IsDNS1123Subdomain(w.Name)) == 0 {
		observe.NoteWebhook(w)
	}
}
