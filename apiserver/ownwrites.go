package apiserver

import (
	"context"
	"slices"
	"sync/atomic"

	"k8s.io/apiserver/pkg/admission"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// userAdmission are the admission plugins that do what objects of users say.
var userAdmission = []string{mutatingpolicy.PluginName, mutatingwebhook.PluginName, validatingpolicy.PluginName, validatingwebhook.PluginName}

// ownWrites exempts the writes of the API server itself from the webhooks and admission
// policies of users while it starts and stops, and while it completes a restored state. A
// start that needs them could not be repaired: the object that refuses it can only be
// deleted once it has started.
type ownWrites struct {
	webhooksApply atomic.Bool  // the server has started, and does not stop
	exemptions    atomic.Int32 // see exempt
}

// exemptOwnWrites changes options that no server has been built with.
func exemptOwnWrites(o options.CompletedOptions) *ownWrites {
	w := &ownWrites{}
	generic := o.Admission.GenericAdmission
	generic.Decorators = append(slices.Clip(generic.Decorators), admission.DecoratorFunc(w.decorate))
	return w
}

func (w *ownWrites) decorate(plugin admission.Interface, name string) admission.Interface {
	plugin = notingPlugin(plugin, name)
	if !slices.Contains(userAdmission, name) {
		return plugin
	}
	return exemptingPlugin{plugin, w}
}

// exempt exempts the writes until end is called.
func (w *ownWrites) exempt() (end func()) {
	w.exemptions.Add(1)
	return func() { w.exemptions.Add(-1) }
}

func (w *ownWrites) isExempt(a admission.Attributes) bool {
	return (!w.webhooksApply.Load() || w.exemptions.Load() > 0) && a.GetUserInfo().GetName() == user.APIServerUser
}

// exemptingPlugin is a plugin that does not see the writes that are exempt.
type exemptingPlugin struct {
	admission.Interface
	writes *ownWrites
}

var (
	_ admission.MutationInterface   = exemptingPlugin{}
	_ admission.ValidationInterface = exemptingPlugin{}
)

// Admit implements admission.MutationInterface.
func (p exemptingPlugin) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	next, ok := p.Interface.(admission.MutationInterface)
	if !ok || p.writes.isExempt(a) {
		return nil
	}
	return next.Admit(ctx, a, o)
}

// Validate implements admission.ValidationInterface.
func (p exemptingPlugin) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	next, ok := p.Interface.(admission.ValidationInterface)
	if !ok || p.writes.isExempt(a) {
		return nil
	}
	return next.Validate(ctx, a, o)
}
