package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The CRDs stand in for those of cert-manager, prometheus-operator,
// argo-workflows, knative, crossplane, kyverno and istio together: as many, and
// of such sizes. They are made here, always the same, so that nothing is
// downloaded.
const (
	manyCRDs  = 90
	crdGroups = 15
	crdMean   = "60 kB"
)

// crdSizes are what schemas come to, in kB of JSON, in turn; their mean is 60.
var crdSizes = []int{8, 12, 16, 24, 32, 48, 60, 80, 120, 200}

// newCRD makes the CRD with a number. The schema has the depth, the descriptions
// and the kinds of checks that generated ones have.
func newCRD(i int) *apiextensions.CustomResourceDefinition {
	g := schemaGenerator{rand.New(rand.NewPCG(1, uint64(i)))}
	spec := g.objectOfSize(1000 * crdSizes[i%len(crdSizes)])
	spec.Properties["min"], spec.Properties["max"] = g.integerField(), g.integerField()
	spec.XValidations = apiextensions.ValidationRules{{Rule: "!has(self.min) || !has(self.max) || self.min <= self.max", Message: "min is more than max"}}
	return newNamespacedCRD(fmt.Sprintf("g%02d.bench.example.com", i%crdGroups), fmt.Sprintf("Kind%03d", i), spec)
}

// newNamespacedCRD is a namespaced CRD of one version, with a status.
func newNamespacedCRD(group, kind string, spec apiextensions.JSONSchemaProps) *apiextensions.CustomResourceDefinition {
	singular := strings.ToLower(kind)
	any := true
	status := apiextensions.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &any}
	root := &apiextensions.JSONSchemaProps{
		Type:        "object",
		Description: kind + " is made by the bench.",
		Properties: map[string]apiextensions.JSONSchemaProps{
			"apiVersion": {Type: "string"}, "kind": {Type: "string"}, "metadata": {Type: "object"}, "spec": spec, "status": status,
		},
	}
	return &apiextensions.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: singular + "s." + group},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: group,
			Names: apiextensions.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Singular: singular, Plural: singular + "s"},
			Scope: apiextensions.NamespaceScoped,
			Versions: []apiextensions.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema:                   &apiextensions.CustomResourceValidation{OpenAPIV3Schema: root},
				Subresources:             &apiextensions.CustomResourceSubresources{Status: &apiextensions.CustomResourceSubresourceStatus{}},
				AdditionalPrinterColumns: []apiextensions.CustomResourceColumnDefinition{{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"}},
			}},
		},
	}
}

// schemaGenerator makes schemas by chance; one seed always makes the same.
type schemaGenerator struct{ *rand.Rand }

// objectOfSize is an object that comes to so many bytes of JSON, or a little more.
func (g schemaGenerator) objectOfSize(bytes int) apiextensions.JSONSchemaProps {
	root := g.emptyObject()
	for size, n := 0, 0; size < bytes; n++ {
		field := g.randomField(maxDepthFor(bytes - size))
		data, err := json.Marshal(field)
		if err != nil {
			panic(err) // there is nothing in it that JSON does not know
		}
		root.Properties[fmt.Sprintf("%s%d", g.pickWord(descriptionWords), n)] = field
		size += len(data)
	}
	return root
}

// maxDepthFor is how many levels a field may have that is to fit in so many bytes:
// each level makes it about four times as large.
func maxDepthFor(bytes int) int {
	depth := 0
	for size := 2_000; size < bytes && depth < 4; size *= 4 {
		depth++
	}
	return depth
}

// randomField is a field of any kind, with so many levels below it at most.
func (g schemaGenerator) randomField(depth int) apiextensions.JSONSchemaProps {
	if depth == 0 || g.IntN(10) < 4 {
		return g.randomLeaf()
	}
	s := g.emptyObject()
	for n := range 3 + g.IntN(6) {
		s.Properties[fmt.Sprintf("%s%d", g.pickWord(descriptionWords), n)] = g.randomField(depth - 1)
	}
	if g.IntN(3) == 0 {
		items := s
		return apiextensions.JSONSchemaProps{Type: "array", Description: g.randomDescription(), Items: &apiextensions.JSONSchemaPropsOrArray{Schema: &items}}
	}
	return s
}

func (g schemaGenerator) emptyObject() apiextensions.JSONSchemaProps {
	return apiextensions.JSONSchemaProps{Type: "object", Description: g.randomDescription(), Properties: map[string]apiextensions.JSONSchemaProps{}}
}

func (g schemaGenerator) randomLeaf() apiextensions.JSONSchemaProps {
	s := apiextensions.JSONSchemaProps{Type: "string", Description: g.randomDescription()}
	switch g.IntN(8) {
	case 0:
		return g.integerField()
	case 1:
		s.Type = "boolean"
	case 2:
		for n := range 3 {
			s.Enum = append(s.Enum, apiextensions.JSON{Raw: fmt.Appendf(nil, "%q", fmt.Sprintf("%s%d", g.pickWord(descriptionWords), n))})
		}
	case 3:
		s.Pattern = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	case 4:
		s.Type, s.XIntOrString = "", true
		s.AnyOf = []apiextensions.JSONSchemaProps{{Type: "integer"}, {Type: "string"}}
	case 5:
		s.Type = "object"
		s.AdditionalProperties = &apiextensions.JSONSchemaPropsOrBool{Allows: true, Schema: &apiextensions.JSONSchemaProps{Type: "string"}}
	}
	return s
}

func (g schemaGenerator) integerField() apiextensions.JSONSchemaProps {
	return apiextensions.JSONSchemaProps{Type: "integer", Format: "int32", Description: g.randomDescription()}
}

// randomDescription is a description of the length that most have.
func (g schemaGenerator) randomDescription() string {
	list := make([]string, 8+g.IntN(24))
	for i := range list {
		list[i] = g.pickWord(descriptionWords)
	}
	return strings.Join(list, " ")
}

func (g schemaGenerator) pickWord(from []string) string { return from[g.IntN(len(from))] }

var descriptionWords = strings.Fields(`name template selector container volume secret reference endpoint timeout
	interval policy rule match header port path certificate issuer duration label annotation
	resource limit request condition status replica strategy schedule target source metric
	threshold retry backoff hook parameter argument environment storage class zone`)
