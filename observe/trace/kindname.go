package trace

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// ambiguousKinds returns the kinds that objects of several API groups have. A text that shows such objects names
// their kinds with the group, as kubectl does. A node without an object, such as a sync, shows nil.
func ambiguousKinds(shown []*observe.Object) map[string]bool {
	groups, ambiguous := map[string]string{}, map[string]bool{}
	for _, o := range shown {
		if o == nil {
			continue
		}
		kind := kindOf(o)
		if group, known := groups[kind]; known && group != o.Group {
			ambiguous[kind] = true
		}
		groups[kind] = o.Group
	}
	return ambiguous
}

// kindOf returns the kind of an object or, if that is not known, the resource.
func kindOf(o *observe.Object) string { return cmp.Or(o.Kind, o.Resource) }

// kindName names the kind of an object: Site or, if that is ambiguous, Site.example.com.
func (p phrases) kindName(o *observe.Object) string {
	kind := kindOf(o)
	if p.ambiguous[kind] && o.Group != "" {
		return kind + "." + o.Group
	}
	return kind
}

// fullName names an object with its namespace.
func (p phrases) fullName(o observe.Object) string {
	if o.Kind != "" {
		o.Kind = p.kindName(&o)
	}
	return words.OneLine(o.String())
}

// countKind counts objects of a kind that has been named: "2 Sites.example.com".
func countKind(n int, kindName string) string {
	if n != 1 {
		kindName = pluralKind(kindName)
	}
	return words.OneLine(fmt.Sprint(n, " ", kindName))
}

// pluralKind returns the plural of a kind that has been named.
func pluralKind(kindName string) string {
	kind, group, found := strings.Cut(kindName, ".")
	if found {
		group = "." + group
	}
	return plural(kind) + group
}

// plural returns the English plural of a kind: Sites, Ingresses, NetworkPolicies, Endpoints. A resource is a plural.
func plural(kind string) string {
	lower := strings.ToLower(kind)
	stem, isY := strings.CutSuffix(kind, "y")
	switch {
	case lower == "endpoints", kind != "" && kind[0] == lower[0]:
		return kind
	case isY && stem != "" && !strings.ContainsAny(stem[len(stem)-1:], "aeiou"):
		return stem + "ies"
	case strings.HasSuffix(lower, "s"), strings.HasSuffix(lower, "x"), strings.HasSuffix(lower, "ch"), strings.HasSuffix(lower, "sh"):
		return kind + "es"
	}
	return kind + "s"
}

// phrases describes the nodes of the tree.
func (t *Tree) phrases() phrases {
	var shown []*observe.Object
	for n := range t.All() {
		shown = append(shown, n.Object)
		if why := n.trigger(); n.root && why != nil {
			shown = append(shown, why.Object)
		}
	}
	return phrases{home: t.About.Namespace, ambiguous: ambiguousKinds(shown)}
}

// phrases describes the nodes of the chain.
func (c *Chain) phrases() phrases {
	var shown []*observe.Object
	for _, n := range c.Links {
		shown = append(shown, n.Object)
		if owner := n.absentOwner; owner != nil {
			shown = append(shown, owner.object)
		}
	}
	for _, n := range c.Since {
		shown = append(shown, n.Object)
		if why := c.reasonOfRemoval(n); why != nil {
			shown = append(shown, why.Object)
		}
	}
	for _, f := range c.failedEffects {
		shown = append(shown, f.last.Object)
	}
	return phrases{home: c.About.Namespace, ambiguous: ambiguousKinds(shown)}
}
