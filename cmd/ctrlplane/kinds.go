package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// isBuiltInKind reports whether a word is a kind of Kubernetes, singular or plural.
func isBuiltInKind(word string) bool {
	word = strings.ToLower(word)
	for gvk := range scheme.Scheme.AllKnownTypes() {
		plural, singular := meta.UnsafeGuessKindToResource(gvk)
		if word == plural.Resource || word == singular.Resource {
			return true
		}
	}
	return false
}

// requireName returns an error if the arguments of a verb are a kind alone.
func requireName(t *target, verb string, args []string) error {
	if len(args) != 1 || !isBuiltInKind(args[0]) {
		return nil
	}
	return usage.Errorf(`a name is missing: use KIND/NAME, as in "%s %s/NAME": %s lists the names`,
		verb, args[0], t.quoteCommand("kubectl get "+args[0]))
}

// resolveObject finds the resource of a kind in the way that kubectl does.
func resolveObject(ctx context.Context, mapper kinds.Mapper, kind, namespace, name string) (observe.Object, error) {
	m, err := mapper.Find(ctx, strings.ToLower(kind))
	if err != nil {
		return observe.Object{}, err
	}
	if !isNamespaced(m) {
		namespace = ""
	}
	return observe.Object{
		Group: m.Resource.Group, Resource: m.Resource.Resource, Kind: m.GroupVersionKind.Kind, Namespace: namespace, Name: name,
	}, nil
}

// newKindMapper returns a mapper that knows the kinds of a server, and their short names.
func newKindMapper(cfg *rest.Config) (kinds.Mapper, error) {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return kinds.Mapper{}, err
	}
	return kinds.NewMapper(client), nil
}

func isNamespaced(m *meta.RESTMapping) bool { return m.Scope.Name() != meta.RESTScopeNameRoot }

// unknownKindError suggests a kind, or says how to list the kinds.
func unknownKindError(ctx context.Context, t *target, mapper kinds.Mapper, kind string) error {
	otherwise := fmt.Sprintf("%s lists all kinds", t.quoteCommand("kubectl api-resources"))
	return usage.Errorf("unknown kind %q: %s", kind, mapper.Hint(ctx, kind, otherwise))
}
