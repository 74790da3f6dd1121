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

	"github.com/ctrlplane/ctrlplane/observe"
)

// What the server serves is asked anew when it is old, for dependents may be of
// a new kind, and when something is not in it.
const (
	maxListingAge      = 10 * time.Second
	minRefreshInterval = 2 * time.Second
)

var secrets = schema.GroupResource{Resource: "secrets"}

// errNotServed is what find's errors wrap when nothing is served by that name.
var errNotServed = errors.New("the API server serves no such resource")

// resource is what the API server serves, in the version it prefers.
type resource struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
	// garbageCollected says whether the garbage collector sees its objects, so that they
	// can have owners.
	garbageCollected bool
}

// object names an object of the resource.
func (r resource) object(namespace, name, uid string) observe.Object {
	if !r.namespaced {
		namespace = ""
	}
	return observe.Object{Group: r.Group, Resource: r.Resource, Kind: r.kind, Namespace: namespace, Name: name, UID: uid}
}

// catalog knows what the API server serves.
type catalog struct {
	server  discovery.DiscoveryInterfaceWithContext
	lock    chan struct{} // full while it is held, so that waiting for it can end
	askedAt time.Time
	current *listing // nil before the first answer
}

// listing is what discovery has told; nobody changes it.
type listing struct {
	resources []resource
	err       error // why it may lack some
}

func newCatalog(server discovery.DiscoveryInterfaceWithContext) *catalog {
	return &catalog{server: server, lock: make(chan struct{}, 1)}
}

// find returns the resource of o, and asks the server again if it is not known.
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

// refresh asks the server again, unless it has been asked a moment ago.
func (c *catalog) refresh(ctx context.Context) error {
	_, err := c.currentListing(ctx, minRefreshInterval)
	return err
}

// currentListing returns what was known at most age ago, if need be by asking. When
// there is no answer, it returns what was known before, with the reason.
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
	// Not the client's method of this name: it asks three times if a group fails.
	lists, err := discovery.ServerPreferredResourcesWithContext(ctx, c.server)
	if ctx.Err() != nil {
		err = context.Cause(ctx) // not discovery's own, which wraps nothing
	}
	if err != nil {
		err = fmt.Errorf("ask what the API server serves: %w", err)
	}
	c.askedAt = time.Now()
	switch {
	case len(lists) > 0:
		c.current = newListing(lists, err)
	case c.current == nil:
		return nil, err
	default:
		c.current = &listing{resources: c.current.resources, err: err}
	}
	return c.current, nil
}

func newListing(lists []*metav1.APIResourceList, err error) *listing {
	l := &listing{err: err}
	for _, list := range lists {
		gv, parseErr := schema.ParseGroupVersion(list.GroupVersion)
		if parseErr != nil {
			l.err = errors.Join(l.err, parseErr)
			continue
		}
		for _, r := range list.APIResources {
			l.resources = append(l.resources, resource{
				GroupVersionResource: gv.WithResource(r.Name),
				kind:                 r.Kind,
				namespaced:           r.Namespaced,
				garbageCollected:     discovery.SupportsAllVerbs{Verbs: []string{"delete", "list", "watch"}}.Match("", &r),
			})
		}
	}
	return l
}

// find returns the resource of o. One without a group is of the core group, or
// of the only group that has it.
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
		return resource{}, fmt.Errorf("%s is served in the groups %s: name one", what, strings.Join(groups, ", "))
	case l.err != nil:
		return resource{}, fmt.Errorf("%w by the name of %s; it may be missing: %w", errNotServed, what, l.err)
	}
	return resource{}, fmt.Errorf("%w by the name of %s", errNotServed, what)
}

// possibleDependents returns the resources whose objects may be dependents of an object.
func (l *listing) possibleDependents(namespaced bool) []resource {
	return slices.DeleteFunc(slices.Clone(l.resources), func(r resource) bool {
		event := r.Resource == "events" && (r.Group == "" || r.Group == "events.k8s.io")
		return !r.garbageCollected || event || namespaced && !r.namespaced
	})
}
