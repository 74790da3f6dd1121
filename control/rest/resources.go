package rest

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// builtinResources returns, by group, what may be a resource in it; all groups of client-go are known, and no others.
var builtinResources = sync.OnceValue(func() map[string]map[string]bool {
	known := map[string]map[string]bool{}
	for kind := range scheme.Scheme.AllKnownTypes() {
		if kind.Group == "extensions" { // is not served any more
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(kind) // is right for all of them
		if known[kind.Group] == nil {
			known[kind.Group] = map[string]bool{}
		}
		known[kind.Group][plural.Resource] = true
	}
	return known
})

// checkResource refuses a resource that its group cannot have, as without the group of a Deployment. Groups of custom resources
// are unknown here.
func checkResource(group, resource string) error {
	known := builtinResources()
	if resource == "" || known[group] == nil || known[group][resource] {
		return nil
	}
	var groups []string
	for other, resources := range known {
		switch {
		case resources[resource] && other == "":
			groups = append(groups, "no group")
		case resources[resource]:
			groups = append(groups, "group="+other)
		}
	}
	slices.Sort(groups)
	hint := "give its plural, as of kubectl api-resources, and its group"
	if len(groups) > 0 {
		hint = "use " + words.Or(groups)
	}
	return usage.Errorf("parameter resource: group %q has no %s: %s", group, resource, hint)
}
