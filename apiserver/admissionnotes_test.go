package apiserver

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"

	"github.com/ctrlplane/ctrlplane/observe"
)

// annotatingPlugin adds the annotations that upstream's plugins add for webhooks.
type annotatingPlugin struct{ admission.Interface }

var webhookAnnotations = []string{
	"failed-open.validating.webhook.admission.k8s.io/round_0_index_0", "v.example.com",
	"failed-open.mutation.webhook.admission.k8s.io/round_0_index_0", "down.example.com",
	"mutation.webhook.admission.k8s.io/round_0_index_0", `{"configuration":"c","webhook":"down.example.com","mutated":false}`,
	"mutation.webhook.admission.k8s.io/round_0_index_1", `{"configuration":"c","webhook":"m.example.com","mutated":true}`,
	"patch.webhook.admission.k8s.io/round_0_index_2", patched,
	"mutation.webhook.admission.k8s.io/round_0_index_2", `{"configuration":"c","webhook":"p.example.com","mutated":true}`,
	"patch.webhook.admission.k8s.io/round_0_index_3", `{"patch":[{"op":"add","path":"/spec/size"}]}`,
	"mutation.webhook.admission.k8s.io/round_0_index_3", `{"configuration":"c","webhook":"same.example.com","mutated":false}`,
	"patch.webhook.admission.k8s.io/round_0_index_4", `{`,
	"mutation.webhook.admission.k8s.io/round_0_index_4", `{"configuration":"c","webhook":"q.example.com","mutated":true}`,
	"other.example.com/note", "noted",
	"failed-open.validating.webhook.admission.k8s.io/forged", "any text",
	"failed-open.validating.webhook.admission.k8s.io/long", strings.Repeat("a", 254),
}

const patched = `{"configuration":"c","webhook":"p.example.com","patchType":"JSONPatch","patch":[` +
	`{"op":"test","path":"/spec"},{"op":"add","path":"/metadata/labels/app.kubernetes.io~1name","value":"x"},` +
	`{"op":"replace","path":"/spec/containers/0/image","value":"y"},{"op":"add","path":"/spec/containers/-","value":{}},{"op":"add","path":"/spec/containers/-","value":{}},` +
	`{"op":"move","from":"/spec/old","path":"/spec/a~0b"},{"op":"replace","path":"","value":{}}]}`

func (annotatingPlugin) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	for i := 0; i < len(webhookAnnotations); i += 2 {
		add := a.AddAnnotation
		if strings.HasPrefix(webhookAnnotations[i], "patch.") {
			add = func(key, value string) error { return a.AddAnnotationWithLevel(key, value, auditinternal.LevelRequest) }
		}
		if err := add(webhookAnnotations[i], webhookAnnotations[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (p annotatingPlugin) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	return p.Validate(ctx, a, o)
}

// annotated counts the annotations that reach the audit log.
type annotated struct {
	admission.Attributes
	count *int
}

func (a annotated) AddAnnotation(string, string) error { *a.count++; return nil }

func (a annotated) AddAnnotationWithLevel(_, _ string, level auditinternal.Level) error {
	if level == auditinternal.LevelRequest {
		*a.count++
	}
	return nil
}

func TestWebhooksAreNoted(t *testing.T) {
	want := []observe.Webhook{
		{Name: "v.example.com", Outcome: observe.WebhookIgnored},
		{Name: "down.example.com", Outcome: observe.WebhookIgnored},
		{Name: "m.example.com", Outcome: observe.WebhookChanged},
		{Name: "p.example.com", Outcome: observe.WebhookChanged, Fields: []string{"metadata.labels[app.kubernetes.io/name]", "spec.containers[0].image", "spec.containers", "spec.old", "spec.a~b", "the whole object"}},
		{Name: "q.example.com", Outcome: observe.WebhookChanged},
	}
	for _, name := range []string{mutatingwebhook.PluginName, validatingwebhook.PluginName} {
		plugin := notingPlugin(annotatingPlugin{}, name)
		for what, call := range map[string]func(admission.Attributes) error{
			"admit": func(a admission.Attributes) error {
				return plugin.(admission.MutationInterface).Admit(t.Context(), a, nil)
			},
			"validate": func(a admission.Attributes) error {
				return plugin.(admission.ValidationInterface).Validate(t.Context(), a, nil)
			},
		} {
			var served observe.ServedCall
			count, err := 0, error(nil)
			write := annotated{admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, "", "", schema.GroupVersionResource{}, "", admission.Create, nil, false, nil), &count}
			served.Serve("client", func() { err = call(write) })
			if got := served.Webhooks(); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s: got %+v, want %+v: %v", name, what, got, want, err)
			}
			if count != len(webhookAnnotations)/2 {
				t.Errorf("%s, %s: %d annotations reach the audit log", name, what, count)
			}
		}
	}
	if _, noting := notingPlugin(annotatingPlugin{}, "LimitRanger").(webhookPlugin); noting {
		t.Error("a plugin without webhooks is wrapped")
	}
}

// failingPlugin is one whose last mutating webhook has not changed the object, and fails.
type failingPlugin struct {
	admission.Interface
	err error
}

func (p failingPlugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	for _, webhook := range []string{"first", "last"} {
		if err := a.AddAnnotation("mutation.webhook.admission.k8s.io/"+webhook, `{"configuration":"c","webhook":"`+webhook+`.example.com","mutated":false}`); err != nil {
			return err
		}
	}
	return p.err
}

// The error of a patch that cannot be applied does not name the webhook. Others do not either: of the next webhook's match conditions,
// of a request that the client ended, and of the conversion after the last webhook.
func TestUnappliedAnswersAreNoted(t *testing.T) {
	configMaps := schema.GroupResource{Resource: "configmaps"}
	unapplied := []observe.Webhook{{Name: "last.example.com", Outcome: observe.WebhookUnapplied}}
	for name, tc := range map[string]struct {
		err  error
		want []observe.Webhook
	}{
		"patch":      {apierrors.NewInternalError(errors.New("replace operation does not apply: doc is missing path: /spec/nope/x: missing value")), unapplied},
		"refusal":    {apierrors.NewForbidden(configMaps, "x", errors.New(`admission webhook "last.example.com" denied the request`)), nil},
		"call":       {apierrors.NewInternalError(errors.New(`failed calling webhook "next.example.com": failed to call webhook: EOF`)), nil},
		"conditions": {apierrors.NewForbidden(configMaps, "x", errors.New(`expression 'object.data.nope == "x"' resulted in error: no such key: nope`)), nil},
		"ended":      {apierrors.NewTimeoutError("request did not complete within requested timeout", 0), nil},
		"conversion": {errors.New("converting (v1.Site) to (v2.Site): unknown conversion"), nil},
	} {
		plugin := notingPlugin(failingPlugin{err: tc.err}, mutatingwebhook.PluginName)
		write := admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, "", "", schema.GroupVersionResource{}, "", admission.Create, nil, false, nil)
		var served observe.ServedCall
		var err error
		served.Serve("client", func() { err = plugin.(admission.MutationInterface).Admit(t.Context(), write, nil) })
		if got := served.Webhooks(); !errors.Is(err, tc.err) || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}
