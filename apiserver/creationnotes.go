package apiserver

import (
	"context"

	"k8s.io/apiserver/pkg/admission"

	"github.com/ctrlplane/ctrlplane/observe"
)

// creationPlugin is upstream's plugin that checks namespaces, the first one that sees a write. It notes whether that is to create its
// object: the answer to a patch that is refused does not say so.
type creationPlugin struct{ admission.Interface }

var _ admission.MutationInterface = creationPlugin{}

// Admit implements admission.MutationInterface.
func (p creationPlugin) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	observe.NoteCreation(a.GetOperation() == admission.Create && a.GetSubresource() == "")
	if next, ok := p.Interface.(admission.MutationInterface); ok {
		return next.Admit(ctx, a, o)
	}
	return nil
}
