// Package inspect shows the current state of an API object: its YAML, its owners and
// its dependents.
package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/objectclients"
	"github.com/ctrlplane/ctrlplane/internal/oneline"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/observe"
)

// inspectTimeout limits the duration of an inspection.
const inspectTimeout = 3 * time.Second

// Inspector shows objects of an API server. It is safe for concurrent use.
type Inspector struct {
	kinds    discovery.DiscoveryInterfaceWithContext
	objects  dynamic.Interface
	metadata metadata.Interface
	timeout  time.Duration
}

var _ observe.Inspector = (*Inspector)(nil)

// New returns an inspector that uses cfg without its rate limit. It does not connect.
func New(cfg *rest.Config) (*Inspector, error) {
	clients, err := objectclients.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	partial, err := metadata.NewForConfigAndClient(clients.Config, clients.HTTP)
	if err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	return &Inspector{kinds: clients.Kinds, objects: clients.Objects, metadata: partial, timeout: inspectTimeout}, nil
}

// Inspect returns the current state of o. o must have a name, and a resource or a
// kind; the resource takes precedence. If the object no longer exists, or has another
// UID, Gone is set and there is no YAML.
//
// An inspection takes at most 3 s. If some owners or dependents could not be found, it
// is returned with an error that says so. With any other error it is empty.
func (i *Inspector) Inspect(ctx context.Context, o observe.Object) (observe.Inspection, error) {
	ctx, cancel := context.WithTimeoutCause(requestlog.Discard(ctx), i.timeout,
		fmt.Errorf("no answer within %s: %w", i.timeout, context.DeadlineExceeded))
	defer cancel()
	found, err := i.inspect(ctx, o)
	if err != nil {
		err = oneline.Error(fmt.Errorf("inspect %s: %w", o, err))
	}
	return found, err
}

func (i *Inspector) inspect(ctx context.Context, o observe.Object) (observe.Inspection, error) {
	if o.Name == "" || o.Resource == "" && o.Kind == "" {
		return observe.Inspection{}, errors.New("an object needs a name, and a resource or a kind")
	}
	// Each inspection asks again: a kind, or the version in which it is served, may be new.
	served, err := discover(ctx, i.kinds)
	if err != nil {
		return observe.Inspection{}, err
	}
	r, err := served.find(o)
	if err != nil {
		return observe.Inspection{}, err
	}
	u, err := i.get(ctx, r, o)
	if err != nil {
		return observe.Inspection{}, err
	}
	if u == nil || o.UID != "" && o.UID != string(u.GetUID()) {
		return observe.Inspection{Object: r.object(o.Namespace, o.Name, o.UID), Gone: true}, nil
	}
	found := observe.Inspection{Object: r.object(u.GetNamespace(), u.GetName(), string(u.GetUID()))}
	owners, ownersErr := served.owners(u)
	dependents, dependentsErr := i.dependents(ctx, served, r, u)
	found.Owners, found.Dependents = owners, dependents
	if found.YAML, err = renderYAML(u, r.GroupResource() == secrets); err != nil {
		return observe.Inspection{}, err
	}
	if err := oneline.Join(ownersErr, dependentsErr); err != nil {
		return found, fmt.Errorf("incomplete: %w", err)
	}
	return found, nil
}

// get returns the object o of r; nil if it does not exist.
func (i *Inspector) get(ctx context.Context, r resource, o observe.Object) (*unstructured.Unstructured, error) {
	var client dynamic.ResourceInterface = i.objects.Resource(r.GroupVersionResource)
	if r.namespaced {
		if o.Namespace == "" {
			return nil, fmt.Errorf("%s are namespaced: set the namespace", r.GroupResource())
		}
		client = i.objects.Resource(r.GroupVersionResource).Namespace(o.Namespace)
	}
	u, err := client.Get(ctx, o.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		return u, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case apierrors.IsNotFound(err) && !isUnservedPath(err):
		return nil, nil
	}
	return nil, err
}

// isUnservedPath reports whether a NotFound error is about the path, not the object: the
// resource was removed after it was discovered.
func isUnservedPath(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// owners returns the owners of u. An owner of a kind that is not served has no
// resource.
func (l *listing) owners(u *unstructured.Unstructured) ([]observe.Object, error) {
	var owners []observe.Object
	var problems []error
	for _, ref := range u.GetOwnerReferences() {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err != nil {
			owners = append(owners, observe.Object{Kind: ref.Kind, Name: ref.Name, UID: string(ref.UID)})
			problems = append(problems, fmt.Errorf("owner %s %s: %w", ref.Kind, ref.Name, err))
			continue
		}
		o := observe.Object{Group: gv.Group, Kind: ref.Kind, Name: ref.Name, UID: string(ref.UID)}
		r, err := l.find(o)
		switch {
		case err == nil:
			o = r.object(u.GetNamespace(), ref.Name, string(ref.UID))
		case !errors.Is(err, errNotServed):
			problems = append(problems, fmt.Errorf("owner %s: %w", o, err))
		}
		owners = append(owners, o)
	}
	return owners, oneline.Join(problems...)
}
