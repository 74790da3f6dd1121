package health

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// newKindGrace is how long it may take until a new kind is served.
const newKindGrace = 2 * time.Second

// Refs returns the objects that are named as KIND/NAME, with kinds as in kubectl:
// "deploy/web", "pods/a", "Widget.example.com/w". An unknown kind may have been defined
// just now, so Refs retries for 2 s.
func (w *Waiter) Refs(ctx context.Context, namespace string, args []string) ([]Ref, error) {
	ctx, mapper := w.newNameMapper(ctx)
	refs := make([]Ref, len(args))
	if err := CheckArgs(args); err != nil {
		return nil, err
	}
	for i, arg := range args {
		kind, name, _ := strings.Cut(arg, "/")
		m, err := mapper.waitForMapping(ctx, kind)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		refs[i] = Ref{m.GroupVersionKind, namespace, name}
		if m.Scope.Name() == meta.RESTScopeNameRoot {
			refs[i].Namespace = ""
		}
	}
	return refs, nil
}

// CheckArgs returns a usage error for an argument that Refs cannot accept.
func CheckArgs(args []string) error {
	for _, arg := range args {
		kind, name, ok := strings.Cut(arg, "/")
		if !ok || kind == "" || name == "" || strings.Contains(name, "/") {
			return usage.Errorf("%q is not of the form KIND/NAME, such as deployment/web", arg)
		}
	}
	return nil
}

// nameMapper maps names to kinds.
type nameMapper struct {
	meta.RESTMapperWithContext
	reset func(context.Context) // clears the cache
}

// newNameMapper returns a mapper, and the context to call it with: its cache logs each error that
// it returns.
func (w *Waiter) newNameMapper(ctx context.Context) (context.Context, *nameMapper) {
	cached := memory.NewMemCacheClientWithContext(w.kinds)
	deferred := restmapper.NewDeferredDiscoveryRESTMapperWithContext(cached)
	return logr.NewContext(ctx, logr.Discard()), &nameMapper{restmapper.NewShortcutExpanderWithContext(deferred, cached, nil), deferred.ResetWithContext}
}

// waitForMapping retries until the server serves the kind or newKindGrace is over.
func (n *nameMapper) waitForMapping(ctx context.Context, kind string) (*meta.RESTMapping, error) {
	bounded, cancel := context.WithTimeout(ctx, newKindGrace)
	defer cancel()
	for unknown, pause := false, newBackoff(); ; sleep(bounded, pause.Step()) {
		m, err := n.mappingFor(ctx, kind)
		if !meta.IsNoMatchError(err) && (ctx.Err() == nil || !unknown) {
			return m, err
		}
		if unknown = true; bounded.Err() != nil {
			return nil, usage.Errorf("unknown kind %s: correct the name or install its CustomResourceDefinition", kind)
		}
		n.reset(ctx)
	}
}

// mappingFor looks for the same as kubectl: a resource, then a kind, with or without
// version and group.
func (n *nameMapper) mappingFor(ctx context.Context, arg string) (*meta.RESTMapping, error) {
	gvr, resource := schema.ParseResourceArg(arg)
	candidates := []schema.GroupVersionResource{resource.WithVersion("")}
	if gvr != nil {
		candidates = append([]schema.GroupVersionResource{*gvr}, candidates...)
	}
	for _, c := range candidates {
		gvk, err := n.KindForWithContext(ctx, c)
		if err == nil {
			return n.RESTMappingWithContext(ctx, gvk.GroupKind(), gvk.Version)
		}
		if !meta.IsNoMatchError(err) {
			return nil, err
		}
	}
	gvk, kind := schema.ParseKindArg(arg)
	if gvk != nil {
		if m, err := n.RESTMappingWithContext(ctx, gvk.GroupKind(), gvk.Version); !meta.IsNoMatchError(err) {
			return m, err
		}
	}
	return n.RESTMappingWithContext(ctx, kind)
}
