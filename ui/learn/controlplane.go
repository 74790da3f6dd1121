package learn

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/objectclients"
	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/observe"
)

// controlPlane gives access to the control plane of a lesson.
type controlPlane struct {
	control         *controlrest.Client
	objects         dynamic.Interface
	served          discovery.DiscoveryInterfaceWithContext
	kinds           kinds.Mapper
	controllerNames map[string]string // by name and alias
}

func newControlPlane(ctx context.Context, cfg *rest.Config) (*controlPlane, error) {
	clients, err := objectclients.New(cfg)
	if err != nil {
		return nil, err
	}
	p := &controlPlane{
		objects: clients.Objects, served: clients.Kinds, kinds: kinds.NewMapper(clients.Kinds), controllerNames: map[string]string{},
	}
	if p.control, err = controlrest.NewClient(clients.Config); err != nil {
		return nil, err
	}
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
	if observe.IsReported(name) {
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
func (p *controlPlane) resolveKind(ctx context.Context, name string) (*meta.RESTMapping, error) {
	m, err := p.kinds.Find(ctx, strings.ToLower(name))
	if meta.IsNoMatchError(err) { // its definition may be new
		p.kinds.Reset(ctx)
		return p.kinds.Find(ctx, strings.ToLower(name))
	}
	return m, err
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
func (p *controlPlane) resolveObject(ctx context.Context, ref, namespace string) (observe.Object, error) {
	kind, name, _ := strings.Cut(ref, "/")
	m, err := p.resolveKind(ctx, kind)
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
