package trace

// linkInstances links the deletions of custom resources that the API server makes itself, without a call, to the deletion of
// their CustomResourceDefinition, which has a finalizer until they are gone.
func (g *graph) linkInstances(outside []*Node) {
	var deletions []*Node // of definitions
	for _, c := range g.calls {
		if c.Object.Resource == "customresourcedefinitions" && c.Verb == "delete" && !c.failed() && !c.dryRun {
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
