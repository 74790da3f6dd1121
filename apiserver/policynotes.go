package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/internal/fieldpaths"
	"github.com/ctrlplane/ctrlplane/observe"
)

// policyPlugin is upstream's plugin of MutatingAdmissionPolicies. It notes what they have changed together: upstream does not
// say, and neither which of them.
type policyPlugin struct{ admission.Interface }

var _ admission.MutationInterface = policyPlugin{}

// Admit implements admission.MutationInterface.
func (p policyPlugin) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	next, ok := p.Interface.(admission.MutationInterface)
	if !ok {
		return nil
	}
	before := &policyAttributes{Attributes: a}
	if err := next.Admit(ctx, before, o); err != nil || !before.changed {
		return err
	}
	fields, err := changedFields(before.object, a.GetObject(), a, o)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("the fields that a MutatingAdmissionPolicy has changed are not known", "resource", a.GetResource(), "err", err)
	}
	if err != nil || len(fields) > 0 { // else a policy has set what was set
		observe.NoteWebhook(observe.Webhook{Outcome: observe.WebhookChanged, Fields: fields})
	}
	return nil
}

// policyAttributes are those of a write. They keep the object as it is before a policy has changed it, and learn whether one
// has: the plugin asks then for another round of the plugins. It reads the object only if there are policies for the write.
type policyAttributes struct {
	admission.Attributes
	object  runtime.Object
	changed bool
}

// GetObject implements admission.Attributes.
func (a *policyAttributes) GetObject() runtime.Object {
	object := a.Attributes.GetObject()
	if a.object == nil && object != nil {
		a.object = object.DeepCopyObject()
	}
	return object
}

// GetReinvocationContext implements admission.Attributes.
func (a *policyAttributes) GetReinvocationContext() admission.ReinvocationContext {
	return policyReinvocation{a.Attributes.GetReinvocationContext(), &a.changed}
}

type policyReinvocation struct {
	admission.ReinvocationContext
	changed *bool
}

// SetShouldReinvoke implements admission.ReinvocationContext.
func (r policyReinvocation) SetShouldReinvoke() {
	*r.changed = true
	r.ReinvocationContext.SetShouldReinvoke()
}

// changedFields returns the paths of the fields that differ between two states of the object of a write, in the version of
// the request. A list counts as one field.
func changedFields(before, after runtime.Object, a admission.Attributes, o admission.ObjectInterfaces) (fields []string, err error) {
	var states [2]map[string]any
	for i, state := range []runtime.Object{before, after} {
		versioned, err := o.GetObjectConvertor().ConvertToVersion(state, a.GetKind().GroupVersion())
		if err != nil {
			return nil, err
		}
		if states[i], err = runtime.DefaultUnstructuredConverter.ToUnstructured(versioned); err != nil {
			return nil, err
		}
	}
	return fieldpaths.Changed(states[0], states[1])
}
