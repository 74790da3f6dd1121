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

// newKindGrace is how long a kind may take to be served that was just defined.
const newKindGrace = 2 * time.Second

// Refs returns the objects that are named as KIND/NAME, with kinds as kubectl
// takes them: "deploy/web", "pods/a", "Widget.example.com/w". A kind that the
// server does not know may be one that was just defined: it is asked for again
// for 2 s.
func (w *Waiter) Refs(ctx context.Context, namespace string, args []string) ([]Ref, error) {
	ctx = logr.NewContext(ctx, logr.Discard()) // the cache logs each error that it returns
	cached := memory.NewMemCacheClientWithContext(w.kinds)
	deferred := restmapper.NewDeferredDiscoveryRESTMapperWithContext(cached)
	mapper := &nameMapper{restmapper.NewShortcutExpanderWithContext(deferred, cached, nil), deferred.ResetWithContext}
	refs := make([]Ref, len(args))
	for i, arg := range args {
		kind, name, ok := strings.Cut(arg, "/")
		if !ok || kind == "" || name == "" || strings.Contains(name, "/") {
			return nil, usage.Errorf("%q is not KIND/NAME, such as deployment/web", arg)
		}
		m, err := mapper.waitForMapping(ctx, kind)
		if err != nil {
			return nil, fmt.Errorf("health: %s: %w", arg, err)
		}
		refs[i] = Ref{m.GroupVersionKind, namespace, name}
		if m.Scope.Name() == meta.RESTScopeNameRoot {
			refs[i].Namespace = ""
		}
	}
	return refs, nil
}

// nameMapper finds the kinds that are meant by names.
type nameMapper struct {
	meta.RESTMapperWithContext
	reset func(context.Context) // forgets what is known
}

// waitForMapping asks for a kind until the server knows it or settling is over.
func (n *nameMapper) waitForMapping(ctx context.Context, kind string) (*meta.RESTMapping, error) {
	bounded, cancel := context.WithTimeout(ctx, newKindGrace)
	defer cancel()
	for pause := newBackoff(); ; sleep(bounded, pause.Step()) {
		m, err := n.mappingFor(ctx, kind)
		if !meta.IsNoMatchError(err) {
			return m, err
		}
		if bounded.Err() != nil {
			return nil, fmt.Errorf("the server knows no kind %s: is it misspelt, or is its CustomResourceDefinition missing?", kind)
		}
		n.reset(ctx)
	}
}

// mappingFor finds what kubectl would: a resource, then a kind, with or without
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
