package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/observe"
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

// listing is what the API server serves at a moment. It is immutable.
type listing struct {
	resources []resource
	err       error // why it may be incomplete
}

// discover asks the API server for its resources. It fails if not one group answers.
func discover(ctx context.Context, server discovery.DiscoveryInterfaceWithContext) (*listing, error) {
	resources, err := kinds.Preferred(ctx, server)
	if ctx.Err() != nil {
		err = context.Cause(ctx) // the error of discovery does not wrap it
	}
	if err != nil {
		err = fmt.Errorf("discover the resources of the API server: %w", err)
		if len(resources) == 0 {
			return nil, err
		}
	}
	l := &listing{err: err}
	for _, r := range resources {
		l.resources = append(l.resources, resource{
			GroupVersionResource: schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Name},
			kind:                 r.Kind,
			namespaced:           r.Namespaced,
			garbageCollected:     discovery.SupportsAllVerbs{Verbs: []string{"delete", "list", "watch"}}.Match("", &r),
		})
	}
	return l, nil
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
