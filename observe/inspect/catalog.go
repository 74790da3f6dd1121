package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Discovery is repeated when the last result is older than maxListingAge, because
// dependents may be of a new kind, and when a resource is unknown, but not more often
// than every minRefreshInterval.
const (
	maxListingAge      = 10 * time.Second
	minRefreshInterval = 2 * time.Second
)

var secrets = schema.GroupResource{Resource: "secrets"}

// errNotServed is wrapped by the errors of find for an unknown resource or kind.
var errNotServed = errors.New("not served by the API server")

// resource is a resource of the API server, in its preferred version.
type resource struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
	// garbageCollected is set if the garbage collector watches its objects. Others
	// cannot have owners.
	garbageCollected bool
}

// object returns the identity of an object of the resource.
func (r resource) object(namespace, name, uid string) observe.Object {
	if !r.namespaced {
		namespace = ""
	}
	return observe.Object{Group: r.Group, Resource: r.Resource, Kind: r.kind, Namespace: namespace, Name: name, UID: uid}
}

// catalog caches the resources that the API server serves.
type catalog struct {
	server  discovery.DiscoveryInterfaceWithContext
	lock    chan struct{} // a mutex whose waiters respect a context; full while held
	askedAt time.Time
	current *listing // nil before the first discovery
}

// listing is a result of discovery. It is immutable.
type listing struct {
	resources []resource
	err       error // why it may be incomplete
}

func newCatalog(server discovery.DiscoveryInterfaceWithContext) *catalog {
	return &catalog{server: server, lock: make(chan struct{}, 1)}
}

// find returns the resource of o. It repeats the discovery if o is unknown.
func (c *catalog) find(ctx context.Context, o observe.Object) (resource, error) {
	l, err := c.currentListing(ctx, maxListingAge)
	if err != nil {
		return resource{}, err
	}
	r, err := l.find(o)
	if err == nil {
		return r, nil
	}
	if l, err = c.currentListing(ctx, minRefreshInterval); err != nil {
		return resource{}, err
	}
	return l.find(o)
}

// refresh repeats the discovery, unless the last one was a moment ago.
func (c *catalog) refresh(ctx context.Context) error {
	_, err := c.currentListing(ctx, minRefreshInterval)
	return err
}

// currentListing returns a listing that is at most age old. If discovery fails, it
// returns the previous listing with the error.
func (c *catalog) currentListing(ctx context.Context, age time.Duration) (*listing, error) {
	select {
	case c.lock <- struct{}{}:
		defer func() { <-c.lock }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if c.current != nil && time.Since(c.askedAt) < age {
		return c.current, nil
	}
	resources, err := kinds.Preferred(ctx, c.server)
	if ctx.Err() != nil {
		err = context.Cause(ctx) // the error of discovery does not wrap it
	}
	if err != nil {
		err = fmt.Errorf("discover the resources of the API server: %w", err)
	}
	c.askedAt = time.Now()
	switch {
	case len(resources) > 0 || err == nil:
		c.current = newListing(resources, err)
	case c.current == nil:
		return nil, err
	default:
		c.current = &listing{resources: c.current.resources, err: err}
	}
	return c.current, nil
}

func newListing(resources []metav1.APIResource, err error) *listing {
	l := &listing{err: err}
	for _, r := range resources {
		l.resources = append(l.resources, resource{
			GroupVersionResource: schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Name},
			kind:                 r.Kind,
			namespaced:           r.Namespaced,
			garbageCollected:     discovery.SupportsAllVerbs{Verbs: []string{"delete", "list", "watch"}}.Match("", &r),
		})
	}
	return l
}

// find returns the resource of o. Without a group, o is of the core group or of the
// only group that has the resource.
func (l *listing) find(o observe.Object) (resource, error) {
	var matches []resource
	for _, r := range l.resources {
		if o.Resource != "" && r.Resource != o.Resource || o.Resource == "" && r.kind != o.Kind {
			continue
		}
		if r.Group == o.Group {
			return r, nil
		}
		if o.Group == "" {
			matches = append(matches, r)
		}
	}
	what := schema.GroupResource{Group: o.Group, Resource: o.Resource}
	if o.Resource == "" {
		what.Resource = o.Kind
	}
	switch {
	case len(matches) == 1:
		return matches[0], nil
	case len(matches) > 1:
		groups := make([]string, len(matches))
		for i, r := range matches {
			groups[i] = r.Group
		}
		slices.Sort(groups)
		return resource{}, fmt.Errorf("%s is served in the groups %s: set the group", what, strings.Join(groups, ", "))
	case l.err != nil:
		return resource{}, fmt.Errorf("%s: %w, or its group is unavailable: %w", what, errNotServed, l.err)
	}
	return resource{}, fmt.Errorf("%s: %w", what, errNotServed)
}

// possibleDependents returns the resources whose objects may be dependents of an object.
func (l *listing) possibleDependents(namespaced bool) []resource {
	return slices.DeleteFunc(slices.Clone(l.resources), func(r resource) bool {
		isEvent := observe.Object{Group: r.Group, Resource: r.Resource}.IsEvent()
		return !r.garbageCollected || isEvent || namespaced && !r.namespaced
	})
}
