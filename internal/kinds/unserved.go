package kinds

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/internal/requestlog"
)

// IsCustom reports whether a kind is not one of Kubernetes.
func IsCustom(of schema.GroupKind) bool {
	return strings.Contains(of.Group, ".") && !scheme.Scheme.IsGroupRegistered(of.Group) && of.Group != apiextensionsv1.GroupName && of.Group != "apiregistration.k8s.io"
}

// ExplainUnserved says in which version a kind of Kubernetes is served that is not in another one.
func ExplainUnserved(ctx context.Context, server discovery.DiscoveryInterfaceWithContext, of schema.GroupVersionKind) (string, error) {
	_, lists, err := server.ServerGroupsAndResourcesWithContext(requestlog.Discard(ctx)) // has what is known also if an aggregated API does not answer
	if len(lists) == 0 && err != nil {
		return "", fmt.Errorf("discover kinds: %w", err)
	}
	var served []schema.GroupVersion
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		has := slices.ContainsFunc(list.APIResources, func(a metav1.APIResource) bool { return a.Kind == of.Kind && !strings.Contains(a.Name, "/") })
		if err == nil && has && !IsCustom(gv.WithKind(of.Kind).GroupKind()) {
			served = append(served, gv)
		}
	}
	if len(served) == 0 {
		return fmt.Sprintf("the control plane does not serve kind %s in %s, a group of Kubernetes: correct its kind and apiVersion", of.Kind, of.GroupVersion()), nil
	}
	as := served[max(0, slices.IndexFunc(served, func(gv schema.GroupVersion) bool { return gv.Group == of.Group }))]
	return fmt.Sprintf("kind %s is not served in %s but in %s: correct its apiVersion", of.Kind, of.GroupVersion(), as), nil
}
