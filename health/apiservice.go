package health

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var apiServices = schema.GroupVersionResource{Group: apiServiceKind.Group, Version: "v1", Resource: "apiservices"}

// staleDiscovery is in the errors of client-go for an API that does not answer.
const staleDiscovery = "stale GroupVersion discovery"

// metricsAPIs are the names that the controller of autoscalers has for groups of APIs.
var metricsAPIs = map[string]string{
	"metrics.k8s.io":          "resource metrics API",
	"custom.metrics.k8s.io":   "custom metrics API",
	"external.metrics.k8s.io": "external metrics API",
}

// addUnavailableAPIs adds to a text of a controller that could not use an API why the APIService of that is not available.
func (s *reasonSearch) addUnavailableAPIs(text string) string {
	if !strings.Contains(text, staleDiscovery) && !strings.Contains(text, " metrics API: ") {
		return text
	}
	defer s.ignoreErrors()()
	for _, api := range s.listAll(apiServices, "") {
		name, state := "APIService "+api.GetName(), StateOf(&api)
		if state.Status != Current && namesAPI(text, &api) && !strings.Contains(text, name+" is ") {
			text = joinTexts(text, name+" is "+state.Message)
		}
	}
	return text
}

// namesAPI reports whether a text names the group and version of an APIService.
func namesAPI(text string, api *unstructured.Unstructured) bool {
	group, _, _ := unstructured.NestedString(api.Object, "spec", "group")
	version, _, _ := unstructured.NestedString(api.Object, "spec", "version")
	if name := metricsAPIs[group]; name != "" && strings.Contains(text, name) {
		return true
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" :,;", r) })
	return slices.Contains(parts, group+"/"+version)
}
