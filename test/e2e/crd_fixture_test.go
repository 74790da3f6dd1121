package e2e_test

import (
	"context"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// customGroup is the suffix of the API groups that the tests define.
const customGroup = ".e2e.example"

// widgetCRD returns a definition, in a group of its own, of a namespaced kind with
// validation, defaults, a status and a scale subresource.
func widgetCRD(group string) *apiextensionsv1.CustomResourceDefinition {
	number, text := apiextensionsv1.JSONSchemaProps{Type: "integer"}, apiextensionsv1.JSONSchemaProps{Type: "string"}
	size, colour := number, text
	size.Minimum, size.Maximum = new(1.0), new(10.0)
	colour.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"red"`)}, {Raw: []byte(`"blue"`)}}
	colour.Default = &apiextensionsv1.JSON{Raw: []byte(`"blue"`)}
	spec := apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"size"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{"size": size, "colour": colour, "frozen": {Type: "boolean"}},
		XValidations: apiextensionsv1.ValidationRules{{
			Rule: "!has(oldSelf.frozen) || !oldSelf.frozen || self.size == oldSelf.size", Message: "a frozen widget keeps its size",
		}},
	}
	status := apiextensionsv1.JSONSchemaProps{
		Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"observedSize": number, "phase": text},
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets." + group + customGroup},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group + customGroup,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList", ShortNames: []string{"wd"}},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Required: []string{"spec"},
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec, "status": status},
				}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
					Scale:  &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.size", StatusReplicasPath: ".status.observedSize"},
				},
				AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Size", Type: "integer", JSONPath: ".spec.size"}},
			}},
		},
	}
}

// establishCRD creates a definition and returns when its resource is served.
func establishCRD(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) schema.GroupVersionResource {
	t.Helper()
	createShared(t, controlPlane.extensions.ApiextensionsV1().CustomResourceDefinitions(), crd, crd.Name)
	return awaitEstablished(t, crd)
}

// createCRD is establishCRD without deleting the definition.
func createCRD(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) schema.GroupVersionResource {
	t.Helper()
	createObject(t, controlPlane.extensions.ApiextensionsV1().CustomResourceDefinitions(), crd)
	return awaitEstablished(t, crd)
}

// awaitEstablished returns the resource of a definition once it is served.
func awaitEstablished(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) schema.GroupVersionResource {
	t.Helper()
	crds := controlPlane.extensions.ApiextensionsV1().CustomResourceDefinitions()
	await(t, "established "+crd.Name, getByName(crds, crd.Name), func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) && apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted)
	})
	gvr := schema.GroupVersionResource{Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name, Resource: crd.Spec.Names.Plural}
	await(t, "list of "+crd.Name, listBySelector(controlPlane.dynamic.Resource(gvr), ""), anyState)
	return gvr
}

func newWidget(gvr schema.GroupVersionResource, name string, size int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": gvr.GroupVersion().String(),
		"kind":       "Widget",
		"metadata":   map[string]any{"name": name},
		"spec":       map[string]any{"size": size},
	}}
}

// customClient adapts a dynamic client to the interfaces of the helpers.
type customClient struct{ dynamic.ResourceInterface }

func (c customClient) Get(ctx context.Context, name string, opts metav1.GetOptions) (*unstructured.Unstructured, error) {
	return c.ResourceInterface.Get(ctx, name, opts)
}

func (c customClient) Create(ctx context.Context, obj *unstructured.Unstructured, opts metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return c.ResourceInterface.Create(ctx, obj, opts)
}

func (c customClient) Update(ctx context.Context, obj *unstructured.Unstructured, opts metav1.UpdateOptions) (*unstructured.Unstructured, error) {
	return c.ResourceInterface.Update(ctx, obj, opts)
}

func (c customClient) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	return c.ResourceInterface.Delete(ctx, name, opts)
}
