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

// addUnavailableAPIs adds to a text of a controller that could not use an API why the APIService of that is not available, or that
// it does not exist.
func (s *reasonSearch) addUnavailableAPIs(text string) string {
	if !strings.Contains(text, staleDiscovery) && !strings.Contains(text, " metrics API: ") {
		return text
	}
	defer s.ignoreErrors()()
	apis := s.listAll(apiServices, "")
	for _, api := range apis {
		name, state := "APIService "+api.GetName(), StateOf(&api)
		if state.Status != Current && namesAPI(text, &api) && !strings.Contains(text, name+" is ") {
			text = joinTexts(text, name+" is "+state.Message)
		}
	}
	return addMissingAPIs(text, apis)
}

// explainUnavailable says why the APIService of a version of a group is not available; "" if it is, or if that is not known.
func (s *reasonSearch) explainUnavailable(of schema.GroupVersion) string {
	for _, api := range s.listAll(apiServices, "") {
		if state := StateOf(&api); api.GetName() == of.Version+"."+of.Group && state.Status != Current {
			return "APIService " + api.GetName() + " is " + state.Message
		}
	}
	return ""
}

// addMissingAPIs adds to a text of the controller of autoscalers that no APIService serves the metrics that it lacks. Every control
// plane has APIServices: without any they could not be listed.
func addMissingAPIs(text string, apis []unstructured.Unstructured) string {
	for group, name := range metricsAPIs {
		isOfGroup := func(api unstructured.Unstructured) bool {
			of, _, _ := unstructured.NestedString(api.Object, "spec", "group")
			return of == group
		}
		if strings.Contains(text, name) && len(apis) > 0 && !slices.ContainsFunc(apis, isOfGroup) {
			return joinTexts(text, "no APIService serves "+group)
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
