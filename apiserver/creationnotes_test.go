package apiserver

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"

	"github.com/ctrlplane/ctrlplane/observe"
)

// The last attempt of a write counts: the object may have been created meanwhile.
func TestCreationsAreNoted(t *testing.T) {
	attributes := func(by admission.Operation, subresource string) admission.Attributes {
		return admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, "shop", "web", schema.GroupVersionResource{Version: "v1", Resource: "pods"}, subresource, by, nil, false, nil)
	}
	create, update, evict := attributes(admission.Create, ""), attributes(admission.Update, ""), attributes(admission.Create, "eviction")
	plugin := notingPlugin(annotatingPlugin{}, lifecycle.PluginName).(admission.MutationInterface)
	for name, tc := range map[string]struct {
		attempts []admission.Attributes
		want     bool
	}{
		"a creation": {[]admission.Attributes{create}, true},
		"an update":  {[]admission.Attributes{update}, false},
		"both":       {[]admission.Attributes{create, update}, false},
		"eviction":   {[]admission.Attributes{evict}, false},
		"none":       {nil, false},
	} {
		var served observe.ServedCall
		served.Serve("client", func() {
			for _, a := range tc.attempts {
				if err := plugin.Admit(t.Context(), annotated{a, new(int)}, nil); err != nil {
					t.Error(err)
				}
			}
		})
		if got := served.IsCreation(); got != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
	observe.NoteCreation(true) // outside of a call
}
