package learn

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/observe"
)

// controlPlane gives access to the control plane of a lesson.
type controlPlane struct {
	cfg             *rest.Config
	control         *controlrest.Client
	objects         dynamic.Interface
	kinds           meta.RESTMapper
	resetKinds      func()            // makes kinds repeat the discovery
	controllerNames map[string]string // by name and alias
}

func newControlPlane(ctx context.Context, cfg *rest.Config) (*controlPlane, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	cfg.WarningHandlerWithContext = rest.NoWarnings{} // they would be printed between the lines of the lesson
	p := &controlPlane{cfg: cfg, controllerNames: map[string]string{}}
	var err error
	if p.control, err = controlrest.NewClient(cfg); err != nil {
		return nil, err
	}
	if p.objects, err = dynamic.NewForConfig(cfg); err != nil {
		return nil, err
	}
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(client)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	p.kinds, p.resetKinds = restmapper.NewShortcutExpander(mapper, cached, nil), mapper.Reset
	list, err := p.control.Controllers(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			p.controllerNames[name] = c.Name
		}
	}
	return p, nil
}

// resolveController returns the full name of a controller. One of an operator,
// PROGRAM/CONTROLLER, is known only while the operator runs.
func (p *controlPlane) resolveController(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	if full := p.controllerNames[name]; full != "" {
		return full, nil
	}
	var known []string
	for n := range p.controllerNames {
		known = append(known, n)
	}
	hint := suggest.Hint(name, known, `"ctrlplane controllers" lists them`)
	return "", fmt.Errorf("unknown controller %q: %s", name, hint)
}

// resolveKind finds the resource of a kind in the way that kubectl does.
func (p *controlPlane) resolveKind(name string) (*meta.RESTMapping, error) {
	full, short := schema.ParseResourceArg(strings.ToLower(name))
	find := func() (found schema.GroupVersionKind, err error) {
		if full != nil {
			found, err = p.kinds.KindFor(*full)
		}
		if full == nil || meta.IsNoMatchError(err) {
			found, err = p.kinds.KindFor(short.WithVersion(""))
		}
		return found, err
	}
	found, err := find()
	if meta.IsNoMatchError(err) { // its definition may be new
		p.resetKinds()
		found, err = find()
	}
	if err != nil {
		return nil, err
	}
	return p.kinds.RESTMapping(found.GroupKind(), found.Version)
}

// resourceClient is the client for the objects of a kind, in a namespace if the kind is
// namespaced.
func (p *controlPlane) resourceClient(m *meta.RESTMapping, namespace string) dynamic.ResourceInterface {
	if m.Scope.Name() == meta.RESTScopeNameRoot {
		return p.objects.Resource(m.Resource)
	}
	return p.objects.Resource(m.Resource).Namespace(namespace)
}

// resolveObject resolves KIND/NAME.
func (p *controlPlane) resolveObject(ref, namespace string) (observe.Object, error) {
	kind, name, _ := strings.Cut(ref, "/")
	m, err := p.resolveKind(kind)
	if err != nil {
		return observe.Object{}, err
	}
	if m.Scope.Name() == meta.RESTScopeNameRoot {
		namespace = ""
	}
	return observe.Object{
		Group: m.Resource.Group, Resource: m.Resource.Resource, Kind: m.GroupVersionKind.Kind, Namespace: namespace, Name: name,
	}, nil
}
