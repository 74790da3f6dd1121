package trace

import (
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// maxConditionsDelay is how long after a write of a CustomResourceDefinition the API server sets its conditions: upstream
// waits 5 s before it establishes one if it has several replicas.
const maxConditionsDelay = 10 * time.Second

// linkDefinitions links the updates of CustomResourceDefinitions that the API server makes itself, without a recorded call, to
// the version before: its controllers act for each version that they receive.
func (g *graph) linkDefinitions(outside []*Node) {
	writes := map[place][]*Node{}
	for _, n := range slices.Concat(g.calls, outside) {
		if isDefinition(n) && n.isWrite() {
			writes[placeOf(n.Object)] = append(writes[placeOf(n.Object)], n)
		}
	}
	for _, n := range outside {
		if !isDefinition(n) || !n.unrecorded || n.Verb != "update" || n.causedBy != nil {
			continue
		}
		version := n.definitionVersion()
		var before *Node
		for _, w := range writes[placeOf(n.Object)] {
			if v := w.definitionVersion(); v != 0 && v < version && (before == nil || v > before.definitionVersion()) {
				before = w
			}
		}
		if before != nil && !before.Gone && n.Time.Sub(before.End()) <= maxConditionsDelay {
			n.setCause(before, Likely, ByStatus)
		}
	}
}

func isDefinition(n *Node) bool {
	return n.Object.Resource == "customresourcedefinitions" && n.Object.Group == "apiextensions.k8s.io"
}

// definitionVersion returns the number of the version that a write has stored; 0 if it has stored none, or that is not known.
func (n *Node) definitionVersion() uint64 {
	if n.Kind != Outside {
		return n.storedVersion(*n.Object)
	}
	return observe.VersionNumber(n.ResourceVersion)
}

// conditionsNote says what the API server does in a write that is linked by linkDefinitions.
func (n *Node) conditionsNote() string {
	if n.Cause == nil || n.Cause.Rule != ByStatus {
		return ""
	}
	return ", whose controllers set its conditions"
}

// linkInstances links the deletions of custom resources that the API server makes itself, without a call, to the deletion of
// their CustomResourceDefinition, which has a finalizer until they are gone.
func (g *graph) linkInstances(outside []*Node) {
	var deletions []*Node // of definitions
	for _, c := range g.calls {
		if c.Object.Resource == "customresourcedefinitions" && c.Verb == "delete" && !c.gotError() && !c.dryRun {
			deletions = append(deletions, c)
		}
	}
	for _, n := range outside {
		if len(deletions) == 0 || !n.unrecorded || n.Verb != "delete" && !n.Marked {
			continue
		}
		var last *Node
		for _, c := range deletions {
			if c.Object.Name == n.Object.Resource+"."+n.Object.Group && c.Time.Before(n.Time) && (last == nil || c.Time.After(last.Time)) {
				last = c
			}
		}
		if last != nil {
			n.setCause(last, Likely, ByDeletion)
		}
	}
}
