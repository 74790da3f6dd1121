package health

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var apiServices = schema.GroupVersionResource{Group: apiServiceKind.Group, Version: "v1", Resource: "apiservices"}

// versionOf returns the group and version that an APIService is for.
func versionOf(api *unstructured.Unstructured) schema.GroupVersion {
	group, _, _ := unstructured.NestedString(api.Object, "spec", "group")
	version, _, _ := unstructured.NestedString(api.Object, "spec", "version")
	return schema.GroupVersion{Group: group, Version: version}
}

// staleDiscovery is in the errors of client-go for an API that does not answer.
const staleDiscovery = "stale GroupVersion discovery"

// unencodedList matches the error of an aggregated API server for a client that asks for protobuf, as the namespace controller does.
var unencodedList = regexp.MustCompile(`object \*(\w+)\.(\w+)List does not implement the protobuf`)

// explainUnencoded says which API server cannot answer the namespace controller, if a text has such an error, and what remains there in
// a namespace.
func (s *reasonSearch) explainUnencoded(text, namespace string) string {
	found := unencodedList.FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	defer s.ignoreErrors()()
	for _, api := range s.listAll(apiServices, "") {
		of := versionOf(&api)
		if of.Version != found[1] {
			continue
		}
		kind := s.findKind(of.WithKind(found[2]))
		if kind.err != nil {
			continue
		}
		why := "the server of APIService " + api.GetName() + " does not answer deletions of " + kind.Name + " in protobuf, in which the namespace controller asks"
		return joinTexts(why, nameObjects(s.listFirst(s.ctx, kind.GroupVersionResource, namespace, 0)))
	}
	return ""
}

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
	found := describeUnavailable(apis, func(api *unstructured.Unstructured) bool {
		return namesAPI(text, api) && !strings.Contains(text, "APIService "+api.GetName()+" is ")
	})
	if strings.Contains(text, staleDiscovery) {
		return joinTexts(text, adviseOnAPIs(found))
	}
	return addMissingAPIs(joinTexts(append([]string{text}, found...)...), apis)
}

// explainUnavailable says why the APIService of a version of a group is not available; "" if it is, or if that is not known.
func (s *reasonSearch) explainUnavailable(of schema.GroupVersion) string {
	return joinTexts(s.unavailableAPIs(func(api *unstructured.Unstructured) bool { return versionOf(api) == of })...)
}

// addMissingAPIs adds to a text of the controller of autoscalers that no APIService serves the metrics that it lacks. Every control
// plane has APIServices: without any they could not be listed.
func addMissingAPIs(text string, apis []unstructured.Unstructured) string {
	for group, name := range metricsAPIs {
		serves := func(api unstructured.Unstructured) bool { return versionOf(&api).Group == group }
		if strings.Contains(text, name) && len(apis) > 0 && !slices.ContainsFunc(apis, serves) {
			return joinTexts(text, "no APIService serves "+group)
		}
	}
	return text
}

// namesAPI reports whether a text names the group and version of an APIService.
func namesAPI(text string, api *unstructured.Unstructured) bool {
	of := versionOf(api)
	if name := metricsAPIs[of.Group]; name != "" && strings.Contains(text, name) {
		return true
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" :,;", r) })
	return slices.Contains(parts, of.String())
}
