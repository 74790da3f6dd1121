package apiserver

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/kubernetes/pkg/apis/core"

	"github.com/ctrlplane/ctrlplane/observe"
)

func managed(manager string, by metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: by, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

// The conflicts that an apply forces are noted; not what other writes take, which need no force.
func TestForcedFieldsAreNoted(t *testing.T) {
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	const k, kl, l, containers = `{"f:data":{"f:k":{}}}`, `{"f:data":{"f:k":{},"f:l":{}}}`, `{"f:data":{"f:l":{}}}`, `{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:image":{}}}}}`
	type entries []metav1.ManagedFieldsEntry
	for name, tc := range map[string]struct {
		before, after    entries
		managers, fields []string
	}{
		"a field":       {entries{managed("flux", apply, kl)}, entries{managed("flux", apply, l), managed("argo", apply, k)}, []string{"flux"}, []string{"data.k"}},
		"all":           {entries{managed("flux", apply, k)}, entries{managed("argo", apply, k)}, []string{"flux"}, []string{"data.k"}},
		"of two":        {entries{managed("flux", apply, k), managed("kubectl", update, l)}, entries{managed("argo", apply, kl)}, []string{"flux", "kubectl"}, []string{"data.k", "data.l"}},
		"in a list":     {entries{managed("flux", apply, containers)}, entries{managed("argo", apply, containers)}, []string{"flux"}, []string{`spec.containers[name="c"].image`}},
		"shared":        {entries{managed("flux", apply, k)}, entries{managed("flux", apply, k), managed("argo", apply, k)}, nil, nil},
		"its own":       {entries{managed("argo", update, k)}, entries{managed("argo", apply, k)}, nil, nil},
		"elsewhere":     {entries{managed("u0", update, k)}, entries{managed("ancient-changes", update, k), managed("argo", apply, k)}, nil, nil},
		"a namespace":   {entries{managed("flux", apply, k)}, entries{managed("argo", apply, k)}, []string{"flux"}, []string{"data.k"}},
		"without force": {entries{managed("flux", apply, k)}, entries{managed("argo", apply, k)}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			stored := observe.Written{Resource: "configmaps", Namespace: "shop", Name: "shop", ResourceVersion: "7"}
			if name == "a namespace" {
				stored.Resource, stored.Namespace = "namespaces", ""
			}
			object := func(f entries) *core.ConfigMap {
				return &core.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: stored.Namespace, Name: stored.Name, ManagedFields: f}}
			}
			a := admission.NewAttributesRecord(object(tc.after), object(tc.before), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "shop", "shop",
				schema.GroupVersionResource{Version: "v1", Resource: stored.Resource}, "", admission.Update, &metav1.UpdateOptions{FieldManager: "argo"}, false, nil)
			plugin := notingPlugin(annotatingPlugin{}, validatingwebhook.PluginName).(admission.ValidationInterface)
			var served observe.ServedCall
			if name != "without force" {
				served.ForceConflicts()
			}
			var err error
			served.Serve("client", func() {
				if err = plugin.Validate(t.Context(), annotated{a, new(int)}, nil); err != nil {
					return
				}
				write := observe.BeginWrite()
				defer write.End()
				write.Stored(stored)
			})
			wrote, _ := served.End(nil)
			got := (&observe.Called{Wrote: wrote}).Forced()
			if got == nil {
				got = &observe.ForcedFields{}
			}
			if err != nil || len(wrote) != 1 || !slices.Equal(got.Managers, tc.managers) || !slices.Equal(got.Fields, tc.fields) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
