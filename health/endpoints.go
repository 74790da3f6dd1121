package health

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/internal/requestkind"
)

// doubtManualEndpoints says why a Service without a selector has no ready endpoint; "" if it has one. Its user makes EndpointSlices
// for it, or Endpoints, which endpointslice-mirroring-controller copies.
func (s *reasonSearch) doubtManualEndpoints(svc *corev1.Service) string {
	if svc.Namespace == metav1.NamespaceDefault && svc.Name == "kubernetes" { // the API server's, which makes none with a loopback address
		return ""
	}
	label := labels.Set{discoveryv1.LabelServiceName: svc.Name}.String()
	found := s.list(discoveryv1.SchemeGroupVersion.WithResource("endpointslices"), svc.Namespace, metav1.ListOptions{LabelSelector: label, Limit: maxListed})
	switch {
	case s.err != nil || slices.ContainsFunc(found, hasReadyEndpoint):
		return ""
	case len(found) > 0:
		return "it has no ready endpoint: none of those in its EndpointSlices is ready"
	}
	var endpoints corev1.Endpoints //nolint:staticcheck // users still make them
	u := s.get(coreResource("endpoints"), svc.Namespace, svc.Name)
	switch {
	case s.err != nil || u != nil && convertObject(u, &endpoints) != nil:
		return ""
	case u == nil:
		return fmt.Sprintf("it has no endpoint: endpointslice-controller makes no EndpointSlice for a Service without a selector: create one with the label %s", label)
	case endpoints.Labels[discoveryv1.LabelSkipMirror] == "true":
		return fmt.Sprintf("it has no endpoint: %s does not copy its Endpoints to an EndpointSlice because of their label %s", controllernames.EndpointSliceMirror, discoveryv1.LabelSkipMirror)
	case hasAnnotation(u, requestkind.LeaderAnnotation):
		return fmt.Sprintf("it has no endpoint: %s does not copy its Endpoints to an EndpointSlice because of their annotation %s", controllernames.EndpointSliceMirror, requestkind.LeaderAnnotation)
	case !slices.ContainsFunc(endpoints.Subsets, func(e corev1.EndpointSubset) bool { return len(e.Addresses)+len(e.NotReadyAddresses) > 0 }): //nolint:staticcheck // as above
		return "it has no endpoint: its Endpoints have no address"
	}
	if stopped := s.explainStopped(controllernames.EndpointSliceMirror, "copy its Endpoints to an EndpointSlice"); stopped != "" {
		return "it has no endpoint: " + stopped
	}
	return "" // they are copied in a moment
}

func hasAnnotation(u *unstructured.Unstructured, name string) bool {
	_, has := u.GetAnnotations()[name]
	return has
}

// hasReadyEndpoint reports whether an EndpointSlice has an endpoint that is ready, as it is also if the slice does not say.
func hasReadyEndpoint(u unstructured.Unstructured) bool {
	var slice discoveryv1.EndpointSlice
	return convertObject(&u, &slice) != nil || slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return ptr.Deref(e.Conditions.Ready, true) })
}
