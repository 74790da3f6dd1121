package trace

import (
	"time"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// orphanedPod is what pod-garbage-collector-controller logs before it deletes a Pod whose node does not exist.
const orphanedPod = "Found orphaned Pod assigned to the Node, deleting"

// maxOrphanDeletion is how long after that line it has requested the deletion: it deletes the Pods one after another.
const maxOrphanDeletion = time.Minute

// noteOrphanedPods notes which Pods were deleted because their node did not exist.
func (g *graph) noteOrphanedPods(records []observe.Record) {
	type orphan struct {
		node string
		at   time.Time
	}
	orphans := map[string][]orphan{} // by the key of the Pod
	for i := range records {
		l, ok := records[i].Event.(*observe.Logged)
		if !ok || l.Controller != controllernames.PodGarbageCollector || l.Message != orphanedPod {
			continue
		}
		values := map[string]string{}
		for _, a := range l.Attrs {
			values[a.Key] = a.Value
		}
		orphans[values["pod"]] = append(orphans[values["pod"]], orphan{values["node"], records[i].Time})
	}
	for _, c := range g.calls {
		if c.Controller != controllernames.PodGarbageCollector || c.Verb != "delete" || c.Object.Resource != "pods" {
			continue
		}
		for _, o := range orphans[c.Object.Key()] {
			if !c.Time.Before(o.at) && c.Time.Sub(o.at) <= maxOrphanDeletion {
				c.missingNode = o.node
			}
		}
	}
}

// linkOrphan links the deletion of a Pod whose node does not exist to the removal of the node or, if that is not recorded, to
// the write that has assigned the Pod to it.
func (g *graph) linkOrphan(c *Node, bindings []*Node) {
	binding := bindingBefore(bindings, c)
	node := c.missingNode
	if node == "" && binding != nil {
		node = binding.BoundTo
	}
	if gone := g.removalOfNode(node, c.Time); gone != nil {
		c.setCause(gone, Likely, ByDelay)
	} else if c.missingNode != "" && binding != nil && binding.BoundTo == node {
		c.setCause(binding, Likely, ByDelay)
	}
}
